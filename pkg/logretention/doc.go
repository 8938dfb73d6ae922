// Package logretention keeps a record of every attempt of every static pod's
// container: its log, and how it ended.
//
//	hook, NRI ---events---\                        /-- store (links, records)
//	looks at the node ----->  Keeper.Run (owner)  ---- asker (CRI, exit files)
//	inotify on names -----/                        \-- herald (journal)
//
// The log is linked when the attempt begins, each rotated piece when it
// appears, and the record is made when the attempt ends. Whoever told of it was
// only a hint: the keeper looks for himself, and a full scan at start and after
// lost events finds what nobody told of.
//
// One goroutine owns all state. What may block for long (CRI, the journal) is
// done beside it, so that links are made while CRI-O thinks.
//
// Nothing is ever written below the kubelet's pod log root, with one exception
// (repair.go): a log whose record the runtime still has gets its name back.
package logretention
