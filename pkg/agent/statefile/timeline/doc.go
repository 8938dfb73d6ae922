// Package timeline keeps what became of the node's pods over days,
// timeline.jsonl in the log directory: one JSON object a line, for reports.
//
//	{"time":"...","kind":"started","bootID":"...","upSeconds":31,"version":"v1"}
//	{"time":"...","kind":"verdict","namespace":"kube-system","pod":"etcd-n1","container":"etcd","verdict":"healthy"}
//	{"time":"...","kind":"proxy","proxy":{"streams":120,"watches":6,"lists":9}}
//	{"time":"...","kind":"alive"}
//	{"time":"...","kind":"ended"}
//
// Nothing is decided from it, so nothing waits for it: it is not fsynced, a
// disk that hangs or is full costs lines and no look. It takes twice [MaxBytes]
// at most: a full file becomes timeline.jsonl.1, in the place of an older one,
// and the new one begins with what still holds, so that each says by itself how
// the pods were.
//
//	line.go     one line, and its bounds
//	file.go     lines are appended, and the file is rotated
//	writer.go   a goroutine between the agent's loop and the disk
//	read.go     the lines since a time
package timeline
