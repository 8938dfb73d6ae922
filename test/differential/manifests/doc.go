// Package manifests compares pkg/node/manifest with the file source of the
// kubelet itself: which manifests it takes up, and which of them are one pod.
//
//	mistakes_test.go   pods with all kinds of mistakes
//	kubelet_test.go    the kubelet's file source, over a directory
//	manifests_test.go  what each side says of them
//
// It is a package of its own so that it can be built without the kubelet's rules.
package manifests
