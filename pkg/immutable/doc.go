// Package immutable is the watch guard: it answers a kubelet's LISTs, watch-lists
// and WATCHes of single Secrets and ConfigMaps in the API server's place, so that
// an object which cannot change is never watched at the API server, and one that
// can is watched there once, some seconds later, at a bounded rate.
//
//	kubelet ── Guard ─┬─ stream ── entry ─┬─ refresh  LIST by name, coalesced, paced
//	                  │            (key)  └─ watching WATCH from the LIST's version
//	                  └─ pass-through: whatever is not understood, or too much
//
// An entry is what is known of one key: the state at a resourceVersion that the
// API server gave, the local streams that follow it, and the LIST and the WATCH
// that renew it. Rules that hold throughout:
//
//   - a version handed out was given by the API server, and none goes back;
//   - a new local reflector is answered from a LIST of its own, or from a copy
//     that an open WATCH keeps when the LISTs of a storm use up their tokens;
//   - a watch-list gets its answer and its bookmark, or waits; never 429, and
//     never a 410 event, after which a reflector asks again without a pause;
//   - an immutable object has no WATCH upstream;
//   - an object lives in memory only while a stream follows it, and Linger more.
package immutable
