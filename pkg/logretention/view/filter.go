package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
)

// Filter says which records somebody wants to see.
type Filter struct {
	// Namespace and Pod are names; empty for all. A static pod may go by the
	// name in its manifest, which lacks that of the node.
	Namespace, Pod string
	// Classes is empty for all.
	Classes []record.Class
	// Since leaves out what ended longer ago; 0 for no bound.
	Since time.Duration
	// Live takes in attempts that have no record yet.
	Live bool
}

// Add adds the flags of the filter.
func (f *Filter) Add(flags *pflag.FlagSet) {
	flags.StringVarP(&f.Namespace, "namespace", "n", "", "only pods of this namespace")
	f.AddBounds(flags)
}

// AddBounds adds all flags but that of the namespace, which a program may have
// already.
func (f *Filter) AddBounds(flags *pflag.FlagSet) {
	flags.Var((*cli.TimeSpan)(&f.Since), "since", "only what ended within this time, for example 24h or 7d")
	flags.Var(&classes{&f.Classes}, "class", "only these classes of ends, with commas between them")
	flags.BoolVar(&f.Live, "live", false, "also attempts that have not ended, or have no record yet")
}

// Name takes the argument POD or NAMESPACE/POD.
func (f *Filter) Name(argument string) error {
	namespace, pod, both := strings.Cut(argument, "/")
	if !both {
		namespace, pod = f.Namespace, argument
	}
	if pod == "" || strings.Contains(pod, "/") || (both && namespace == "") {
		return fmt.Errorf("%q is neither POD nor NAMESPACE/POD", argument)
	}
	if both && f.Namespace != "" && f.Namespace != namespace {
		return fmt.Errorf("%q is not in the namespace %s", argument, f.Namespace)
	}
	f.Namespace, f.Pod = namespace, pod
	return nil
}

// Of returns a copy of an index that holds only what is wanted.
func (f Filter) Of(x *record.Index, now time.Time) *record.Index {
	out := *x
	out.Records, out.Live, out.Dropped = []record.Entry{}, nil, nil
	for _, e := range x.Records {
		if f.wants(e.Attempt, x.Node) && (len(f.Classes) == 0 || slices.Contains(f.Classes, e.Class)) &&
			(f.Since == 0 || now.Sub(ended(&e.Meta)) <= f.Since) {
			out.Records = append(out.Records, e)
		}
	}
	for _, l := range x.Live {
		if f.Live && f.wants(l.Attempt, x.Node) {
			out.Live = append(out.Live, l)
		}
	}
	for container, n := range x.Dropped {
		if f.wantsDir(container, x.Node) {
			if out.Dropped == nil {
				out.Dropped = map[string]int{}
			}
			out.Dropped[container] = n
		}
	}
	return &out
}

// Known is an error for a pod that an index knows nothing of: a name that is
// mistyped reads otherwise as a pod that never crashed.
func (f Filter) Known(x *record.Index) error {
	if f.Pod == "" {
		return nil
	}
	pods := map[string]bool{}
	for _, e := range x.Records {
		if f.wants(e.Attempt, x.Node) {
			return nil
		}
		pods[e.Namespace+"/"+short(e.Pod, x.Node)] = true
	}
	for _, l := range x.Live {
		if f.wants(l.Attempt, x.Node) {
			return nil
		}
		pods[l.Namespace+"/"+short(l.Pod, x.Node)] = true
	}
	for container := range x.Dropped {
		if f.wantsDir(container, x.Node) {
			return nil
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return fmt.Errorf("nothing is known of pod %s; there are %s", f.Pod, strings.Join(slices.Sorted(maps.Keys(pods)), ", "))
}

func (f Filter) wants(a record.Attempt, node string) bool {
	return (f.Namespace == "" || a.Namespace == f.Namespace) && (f.Pod == "" || a.Pod == f.Pod || a.Pod == full(f.Pod, node))
}

// wantsDir is wants for a container's directory.
func (f Filter) wantsDir(container, node string) bool {
	pod, _, _ := strings.Cut(container, "/")
	namespace, name, _ := strings.Cut(pod, "_")
	switch {
	case f.Pod != "" && f.Namespace != "":
		return pod == record.PodDir(f.Namespace, f.Pod) || pod == record.PodDir(f.Namespace, full(f.Pod, node))
	case f.Pod != "":
		return name == f.Pod || name == full(f.Pod, node)
	}
	return f.Namespace == "" || namespace == f.Namespace
}

// full is the name that the kubelet gives to a static pod, short its reverse:
// kubelet pkg/kubelet/config/common.go generatePodName.
func full(pod, node string) string { return pod + "-" + strings.ToLower(node) }

// short is a static pod's name without its node's.
func short(pod, node string) string {
	if node == "" {
		return pod
	}
	return strings.TrimSuffix(pod, "-"+strings.ToLower(node))
}

// ended is what records are ordered by.
func ended(m *record.Meta) time.Time {
	if m.Finished != nil {
		return *m.Finished
	}
	return m.Recorded
}

// ClassList names all classes.
func ClassList() string {
	var names []string
	for _, c := range record.Classes {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

// classes is the flag --class.
type classes struct{ to *[]record.Class }

func (c *classes) Set(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		class := record.Class(strings.TrimSpace(name))
		if !slices.Contains(record.Classes[:], class) {
			return fmt.Errorf("%q is none of %s", name, ClassList())
		}
		*c.to = append(*c.to, class)
	}
	return nil
}

func (c *classes) String() string {
	if c.to == nil {
		return ""
	}
	var names []string
	for _, class := range *c.to {
		names = append(names, string(class))
	}
	return strings.Join(names, ",")
}

// Type is what help calls the flag's value.
func (c *classes) Type() string { return "classes" }
