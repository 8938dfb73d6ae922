// Package promote decides which Secrets and ConfigMaps may be marked immutable.
// It is pure: it reads facts, and knows no API server and no clock.
//
//	Object ── never ── opt-out ── opt-in or name hash ── deployer ── one writer ── age ── use ── promote
//	 facts    the rules that always win                  all of these must hold
//
// The flag cannot be taken back: data of an immutable object never changes again,
// and whoever tries, a controller too, is refused with 422 for ever. An object
// that is then deleted and made again under its name is served stale by kubelets
// that still use the first (kubernetes#119733). So what is not known to be safe is
// not promoted, and a missing fact is a reason to refuse.
//
// Facts cost requests, so an Object may be judged with few of them: a Verdict says
// what is Needed next. Most objects are refused from their metadata alone.
package promote
