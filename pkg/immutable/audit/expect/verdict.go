package expect

import "fmt"

// What it takes for the guard to pay. One API server of two cores needed more
// than a kubelet's second for the first answers when 5,000 watches began at
// once, and 98 KiB for each that stayed; nodes of 240 objects never troubled it.
const (
	// manyWatches is how many WATCHes of all nodes at a common start are worth a
	// guard.
	manyWatches = 5000
	// manyOfNode is how many of one node are: the kubelet gives each of its
	// first reads a second.
	manyOfNode = 500
	// watchBytes is what an open WATCH costs the API server.
	watchBytes = 98 << 10
	// worth is the share of the WATCHes that has to be saved, in per cent.
	worth = 20
)

// Node is one node's share of an audit.
type Node struct {
	Name string `json:"node"`
	Kubelet
	Counts
}

// Verdict says whether the guard pays on the nodes that were looked at, and why
// in a sentence or two.
type Verdict struct {
	Pays bool   `json:"guardPays"`
	Why  string `json:"why"`
	// Remedy is what to do first; empty for nothing.
	Remedy string `json:"first,omitempty"`
}

// JudgeNodes weighs what the guard would save.
func JudgeNodes(nodes []Node) Verdict {
	watching, start, saved, savedFlagged, most, open := 0, 0, 0, 0, 0, 0
	for _, n := range nodes {
		if n.Strategy == Cache || n.Strategy == Get {
			continue
		}
		watching++
		now := n.Under(AsIs, n.Kubelet)
		start += now.StartWatches
		open += now.Open
		most = max(most, now.StartWatches)
		saved += now.StartWatches - n.Under(Sentinels, n.Kubelet).StartWatches
		savedFlagged += now.StartWatches - n.Under(Promotion, n.Kubelet).StartWatches
	}
	at := fmt.Sprintf("%d WATCHes when all of these nodes start, at most %d of one node, %d stay open (about %d MiB of an API server)",
		start, most, open, open*watchBytes>>20)
	switch {
	case len(nodes) == 0:
		return Verdict{Why: "no node was looked at"}
	case watching == 0:
		return Verdict{Why: "these kubelets poll (strategy Cache or Get): they open no WATCH that it could save"}
	case start < manyWatches && most < manyOfNode:
		return Verdict{Why: fmt.Sprintf("too small to need it: %s; it begins to matter at %d in all or %d of one node", at, manyWatches, manyOfNode)}
	case saved*100 < start*worth && savedFlagged*100 >= start*worth:
		return Verdict{Why: fmt.Sprintf("too few objects are immutable: %s, of which the guard saves %d, and up to %d once more are immutable", at, saved, savedFlagged),
			Remedy: "make immutable what never changes"}
	case saved*100 < start*worth:
		return Verdict{Why: fmt.Sprintf("too few objects are or could be immutable: %s, of which the guard saves %d", at, saved)}
	}
	return Verdict{Pays: true, Why: fmt.Sprintf("%s; the guard saves %d at a start, with sentinels, and paces the rest", at, saved)}
}
