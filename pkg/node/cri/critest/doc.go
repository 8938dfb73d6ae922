// Package critest is a small container runtime in memory, served over CRI on a
// real unix socket. Tests put records into it, have it fail, hang or go away,
// and read what it was told to do:
//
//	runtime := critest.Start(t)
//	runtime.AddSandbox(critest.Sandbox{ID: "s", Namespace: "ns", Name: "app", UID: "u"})
//	runtime.AddContainer(critest.Container{ID: "c", SandboxID: "s", Name: "main", PID: 42})
//	runtime.Fail("ContainerStatus", "c", errors.New("no"))
//	client := cri.New(runtime.Socket(), log)
//
// It runs no processes, and does to its records what CRI-O would.
package critest
