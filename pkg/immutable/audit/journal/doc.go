// Package journal counts in a kubelet's journal what its managers of Secrets and
// ConfigMaps did. The journal is what journalctl prints (-o short and its kin,
// cat, json, export), or the kubelet's own log.
//
//	"Starting reflector"         --v=3  one for each object, whoever answers
//	"Caches populated"           --v=2  its first read has come
//	"Stopped watching ... immutable"  --v=4
//	"Not acquired for long time"      --v=4
//
// A guard does not change how many reflectors are started: the API server's
// audit log tells how many of them reached it.
package journal
