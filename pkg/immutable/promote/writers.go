package promote

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// dataWriters are the field managers that own data, each once, sorted.
func dataWriters(meta metav1.ObjectMeta) []string {
	var out []string
	for _, entry := range meta.ManagedFields {
		if entry.FieldsV1 == nil || entry.Subresource != "" {
			continue
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		for _, field := range []string{"f:data", "f:binaryData", "f:stringData"} {
			if _, owns := fields[field]; owns {
				out = append(out, entry.Manager)
				break
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// oneWriter refuses what more than one program has written, or nobody knows who.
func oneWriter(o Object, _ Policy, _ Verdict) Verdict {
	switch writers := dataWriters(o.Meta); len(writers) {
	case 0:
		return Verdict{Rule: RuleWriters, Reason: "it has no data, or managedFields do not tell who wrote it"}
	case 1:
		return Verdict{}
	default:
		return Verdict{Rule: RuleWriters, Reason: "several write its data: " + strings.Join(writers, ", ")}
	}
}

// deployed refuses what a deployer keeps under one name and updates in place. A
// name that is the content's hash is not kept: its next content has another.
func deployed(o Object, _ Policy, eligible Verdict) Verdict {
	if eligible.Rule == RuleNameHash {
		return Verdict{}
	}
	for _, m := range []map[string]string{o.Meta.Labels, o.Meta.Annotations} {
		if key := keyOfDomain(m, deployers); key != "" {
			return Verdict{Rule: RuleDeployed, Reason: "a deployer updates it in place (" + key + ")"}
		}
	}
	if by := o.Meta.Labels["app.kubernetes.io/managed-by"]; by == "Helm" {
		return Verdict{Rule: RuleDeployed, Reason: "Helm updates it in place"}
	}
	return Verdict{}
}

// deployers are domains of the marks that Helm, Argo CD, Flux and others leave.
var deployers = []string{"meta.helm.sh", "argocd.argoproj.io", "toolkit.fluxcd.io", "fleet.cattle.io", "kapp.k14s.io", "configmanagement.gke.io"}
