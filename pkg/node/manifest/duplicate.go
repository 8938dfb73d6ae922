package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// hideDuplicates leaves, of several manifests of one pod, the last in sort
// order, and makes problems of the others. Pods must be in sort order.
//
// The kubelet puts the pods of one listing into a store by namespace and name,
// in sort order, so that the last one stands. (A watch event in between stores
// the file that was written last, whichever that is, until the next listing
// 20 s later; that is not mirrored.)
//
// Mirrors kubelet pkg/kubelet/config/file.go replaceStore, v1.37, and client-go
// tools/cache UndeltaStore.Replace.
func hideDuplicates(intent *node.Intent) {
	winners := make(map[node.PodName]string, len(intent.Pods))
	for _, m := range intent.Pods {
		winners[m.Name] = m.Path
	}
	if len(winners) == len(intent.Pods) {
		return
	}
	intent.Pods = slices.DeleteFunc(intent.Pods, func(m node.Manifest) bool {
		winner := winners[m.Name]
		if m.Path == winner {
			return false
		}
		intent.Problems = append(intent.Problems, node.ManifestProblem{
			Path: m.Path, Pod: m.Name, Kind: node.ProblemDuplicate,
			Message: fmt.Sprintf("%s: the same pod, %s, is also in %s, which wins as the last in sort order; move one of the two out of the directory",
				oneLine(m.Path), m.Name, oneLine(winner)),
		})
		return true
	})
	slices.SortStableFunc(intent.Problems, func(a, b node.ManifestProblem) int {
		return strings.Compare(a.Path, b.Path)
	})
}
