// Package logs compares pkg/logretention/reader with the reader that the kubelet
// and crictl use, k8s.io/cri-client/pkg/logs, on logs of one file.
//
//	readlogs_test.go  the same bytes for the same flags, over generated logs
//	meant_test.go     every way in which ours differs, and why
//	bench_test.go     MB/s of both, and of crictl as a program
//
// It is a package of its own so that it can be built without the kubelet.
package logs
