// Package guard runs the kubelet's own Secret and ConfigMap managers, linked at
// the version that the box runs, through pkg/immutable against a real etcd and
// kube-apiserver (Node and RBAC authorisation, NodeRestriction), and counts in
// the API server's audit log what arrives there, beside the same run without the
// guard.
//
//	cluster_test.go   etcd and kube-apiserver, flat on loopback; certificates
//	audit_test.go     what the audit log counts, and etcd's reads
//	workload_test.go  namespaces, objects and pods of a node
//	kubelet_test.go   the kubelet's managers, mounting
//	proxy_test.go     the guard behind mTLS and HTTP/2, and its pass-through
//	count_test.go     counts with and without, for both ways to begin a watch
//	turns_test.go     first reads, by turns with and without
//	arrival_test.go   first reads of pods that come one by one
//	trace_test.go     what first reads wait for
//	change_test.go    how fast changes arrive
//	agree_test.go     two kubelets over generated histories
//	conversation_test.go  what a recorded conversation is, and says
//	record_test.go    what kubelets and API servers say to each other (-record)
//	scenario_test.go  while that is recorded, and again at a replay
//	replay_test.go    the same said to the guard and to the API server
//	expected_test.go  what nodekeeper audit foretells
//	bench_*_test.go   what the guard costs and saves (make bench-guard)
//	process_test.go   the real program as a process, for the benchmarks
//
// The package exists for its tests only. The components come from the cache that
// the box fills ("make prepare"):
//
//	cd test/guard
//	GOWORK=off CGO_ENABLED=0 go test -trimpath -vet=off -v ./...
package guard
