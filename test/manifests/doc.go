// Package manifests holds what lies below manifests/ to what it promises, with the
// code of those that will read it: kustomize, a real API server, Prometheus.
//
//	overlays_test.go    each overlay builds, and the API server takes it
//	kustomize_test.go   what kubectl's own kustomize can build, and what it names
//	definitions_test.go the custom resources' definitions that takes
//	rights_test.go      what each account may do and what not
//	installer_test.go   what the installer of a trial takes of a node
//	rules_test.go       alerts are well formed, have a page each, name known metrics
//	alerts_test.go      each alert fires, and keeps quiet
//	evaluation_test.go  Prometheus's engine over series in memory
//	dashboards_test.go  queries of the dashboards
//	labels_test.go      labels after the ServiceMonitor's relabelling
//	krew_test.go        the archives and the manifest that krew installs
//
// The package exists for its tests only. The API server comes from the cache that
// the box fills ("make prepare"):
//
//	cd test/manifests
//	GOWORK=off CGO_ENABLED=0 go test -trimpath -vet=off -timeout 300s ./...
package manifests
