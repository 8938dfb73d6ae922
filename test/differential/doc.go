// Package differential compares pkg/restartpolicy with the code of the kubelet
// itself, imported at the version that the box runs.
//
//	rules_test.go     AfterExit against ContainerShouldRestart and ShouldContainerBeRestarted
//	judge_test.go     Judge, over pods of several containers, against the kubelet's choice
//	meant_test.go     every way in which Judge differs from the kubelet, and why
//	backoff_test.go   BackOff.Wait against the kubelet's flowcontrol.Backoff, in simulated time
//	settings_test.go  gates and back-off limits against the kubelet's own defaults
//
// The package exists for its tests only. Run them with the flags that the
// kubelet of the box was built with, so that the build cache serves both. Vet
// would look at every package of the kubelet first, which takes minutes once:
//
//	cd test/differential
//	GOWORK=off CGO_ENABLED=0 go test -trimpath -vet=off -v ./...
//
// The cases come from a seed, which is printed; -seed=N or NODEKEEPER_SEED=N
// choose another, and -pairs=N how many cases each set of gates is given.
package differential
