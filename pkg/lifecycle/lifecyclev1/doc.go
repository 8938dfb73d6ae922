// Package lifecyclev1 is the generated code of nodekeeper.lifecycle.v1.
package lifecyclev1

//go:generate go run -C ../../../tools ./protogen ../pkg/lifecycle/lifecyclev1/lifecycle.proto
