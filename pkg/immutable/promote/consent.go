package promote

import (
	"slices"
	"strings"
)

const (
	// PolicyKey is a label of a namespace, or a label or annotation of an object.
	PolicyKey = "nodekeeper.io/immutable-policy"
	// PolicyPromote opts in. Every other value opts out, so that a misspelt one
	// errs on the side that can be changed later.
	PolicyPromote = "promote"
	// PolicyNever is the documented way to opt out.
	PolicyNever = "never"
	// ReasonKey is the annotation that a promoted object carries.
	ReasonKey = "nodekeeper.io/immutable-reason"
)

// words are the places where a policy may stand, and what stands there.
func words(o Object) map[string]string {
	out := map[string]string{}
	for where, values := range map[string]map[string]string{
		"its label":                      o.Meta.Labels,
		"its annotation":                 o.Meta.Annotations,
		"the label of its namespace":     o.Namespace.Labels,
		"an annotation of its namespace": o.Namespace.Annotations,
	} {
		if value, ok := values[PolicyKey]; ok {
			out[where] = value
		}
	}
	return out
}

// optIn is who opted in, or nothing. A namespace's annotation does not: whoever
// may annotate need not be who may label.
func optIn(o Object) string {
	said := words(o)
	for _, where := range []string{"its label", "its annotation", "the label of its namespace"} {
		if said[where] == PolicyPromote {
			return where + " " + PolicyKey + " asks for it"
		}
	}
	return ""
}

var optOut = []refusal{
	{RuleOptOut, func(o Object, _ Policy) string {
		said := words(o)
		for _, where := range []string{"its label", "its annotation", "the label of its namespace", "an annotation of its namespace"} {
			if value, ok := said[where]; ok && value != PolicyPromote {
				return where + " " + PolicyKey + " is " + value
			}
		}
		return ""
	}},
	// Reloader restarts pods when an object is edited in place, and does nothing
	// any more once it cannot be.
	{RuleReloader, func(o Object, _ Policy) string {
		if key := keyOfDomain(o.Meta.Labels, reloaders); key != "" {
			return "it carries " + key
		}
		if key := keyOfDomain(o.Meta.Annotations, reloaders); key != "" {
			return "it carries " + key
		}
		if o.Use != nil && o.Use.Reloaded != "" {
			return "pod " + o.Use.Reloaded + " is restarted when it changes"
		}
		return ""
	}},
}

var reloaders = []string{"reloader.stakater.com"}

// keyOfDomain is a key of the map whose prefix is one of the domains or below it.
func keyOfDomain(m map[string]string, domains []string) string {
	var found []string
	for key := range m {
		prefix, _, ok := strings.Cut(key, "/")
		if ok && inDomain(prefix, domains) {
			found = append(found, key)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return slices.Min(found)
}

func inDomain(name string, domains []string) bool {
	return slices.ContainsFunc(domains, func(d string) bool {
		return name == d || strings.HasSuffix(name, "."+d)
	})
}
