// Package reader finds and prints the logs of attempts: of those that have
// ended, from their records, of those that run, from what has been captured so
// far, and of those that nobody captured, from the kubelet's own files.
//
//	index.json -> Load -> Select -> []Attempt -> Write -> text
//	/var/log/pods -> PodLogAttempts ---^
//
// It reads only. What it reads may be torn, and is shown for what it is: no
// byte of a segment makes a read fail.
package reader
