package apiserver

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Build is what kustomize builds of a directory, in the order in which it is to
// be applied.
func Build(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatalf("build %s: %v", dir, err)
	}
	var objects []*unstructured.Unstructured
	for _, resource := range built.Resources() {
		// Its own map holds kinds of numbers that unstructured objects may not.
		data, err := resource.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	return objects
}

// Applier applies objects on the server's side, refusing unknown fields. It
// knows the kinds that the server had when it was made.
type Applier struct {
	client dynamic.Interface
	mapper meta.RESTMapper
}

// Applier asks the server which kinds it has.
func (s *Server) Applier(t *testing.T) *Applier {
	t.Helper()
	groups, err := restmapper.GetAPIGroupResources(s.Admin.Discovery())
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &Applier{client, restmapper.NewDiscoveryRESTMapper(groups)}
}

// Apply applies an object, or only asks whether the server would take it.
func (a *Applier) Apply(t *testing.T, o *unstructured.Unstructured, dryRun bool) error {
	t.Helper()
	kind := o.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	data, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	force := true
	options := metav1.PatchOptions{FieldManager: "test", FieldValidation: "Strict", Force: &force}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	_, err = a.client.Resource(mapping.Resource).Namespace(o.GetNamespace()).Patch(t.Context(), o.GetName(), types.ApplyPatchType, data, options)
	return err
}

// Apply applies all that kustomize builds of a directory.
func (s *Server) Apply(t *testing.T, dir string) {
	t.Helper()
	applier := s.Applier(t)
	for _, o := range Build(t, dir) {
		if err := applier.Apply(t, o, false); err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}
