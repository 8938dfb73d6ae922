package manifest

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// settle sorts what was found, which is in sort order, into pods and problems.
// Of several manifests of one pod the last one stands.
//
// The kubelet puts the pods of one listing into a store by namespace and name,
// in sort order, so that the last one stands. (A watch event in between stores
// the file that was written last, whichever that is, until the next listing
// 20 s later; that is not mirrored.) What is left it holds by UID, of which two
// manifests cannot have the same: both are added, and from the next listing on
// each in turn is made an update of the other.
//
// Mirrors kubelet pkg/kubelet/config/file.go replaceStore and config.go merge,
// v1.30 to v1.37, and client-go tools/cache UndeltaStore.Replace.
func settle(intent *node.Intent, files []known) {
	winners := make(map[node.PodName]string, len(files))
	for _, file := range files {
		if file.manifest.Pod != nil {
			winners[file.manifest.Name] = file.manifest.Path
		}
	}
	wins := func(m *node.Manifest) bool { return m.Pod != nil && winners[m.Name] == m.Path }
	sharers := make(map[types.UID][]string)
	for _, file := range files {
		if m := &file.manifest; wins(m) && m.Pod.UID != "" {
			sharers[m.Pod.UID] = append(sharers[m.Pod.UID], m.Path)
		}
	}
	for _, file := range files {
		m := &file.manifest
		switch {
		case m.Pod != nil && !wins(m):
			intent.Problems = append(intent.Problems, duplicate(m, fmt.Sprintf(
				"the same pod, %s, is also in %s, which wins as the last in sort order; move one of the two out of the directory",
				m.Name, oneLine(winners[m.Name]))))
		case file.problem != nil:
			intent.Problems = append(intent.Problems, *file.problem)
		case len(sharers[m.Pod.UID]) > 1:
			others := slices.DeleteFunc(slices.Clone(sharers[m.Pod.UID]), func(path string) bool { return path == m.Path })
			intent.Problems = append(intent.Problems, duplicate(m, fmt.Sprintf(
				"metadata.uid %q is also the UID of another pod, in %s, and the kubelet takes the two for one; take the field out of one of them",
				oneLine(string(m.Pod.UID)), oneLine(others[0]))))
		default:
			intent.Pods = append(intent.Pods, *m)
		}
	}
	slices.SortStableFunc(intent.Problems, func(a, b node.ManifestProblem) int { return cmp.Compare(a.Path, b.Path) })
}

func duplicate(m *node.Manifest, text string) node.ManifestProblem {
	return node.ManifestProblem{Path: m.Path, Pod: m.Name, Kind: node.ProblemDuplicate, Message: oneLine(m.Path) + ": " + text}
}
