// Package promote runs the promotion controller and the manifests that go with it
// against a real etcd and kube-apiserver.
//
//	cluster_test.go    etcd and kube-apiserver of test/apiserver
//	scene_test.go      namespaces, objects, pods; a promoter and what it said
//	promote_test.go    the controller: rules on live objects, races, restarts, the lease
//	account_test.go    the controller as its service account, and what that may not do
//	program_test.go    the program itself; rights in one namespace only
//	admission_test.go  the admission policies, as the server evaluates them
//	flow_test.go       which requests the priority level takes; the KubeletConfigs
//
// The package exists for its tests only. The components come from the cache that
// the box fills ("make prepare"):
//
//	cd test/promote
//	GOWORK=off CGO_ENABLED=0 go test -trimpath -v -timeout 300s ./...
package promote
