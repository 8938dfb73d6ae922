// Package controller marks Secrets and ConfigMaps immutable where package promote
// says that it is safe. It goes through the cluster in passes:
//
//	namespaces ── metadata, page by page ── content of candidates ── pods of the namespace ── patch
//	  selector      most end here             one GET, paced          one LIST each            paced
//
// Nothing it does is urgent, for its rules are measured in days. So there is no
// watch and no cache: a pass that misses something finds it in the next one. What
// is kept between passes, and across restarts, is History: when each candidate's
// content was first seen.
//
// Two that run at once do no harm. A lease makes that rare; a patch carries the
// UID and resourceVersion that were judged, and History's writes carry theirs.
package controller
