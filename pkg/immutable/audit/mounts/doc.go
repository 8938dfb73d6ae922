// Package mounts compares what is mounted on a node with the live objects of
// the same names. An immutable object that was deleted and made anew under its
// name is the case to find: a kubelet keeps serving its first copy for as long
// as any pod of the node refers to the name (kubernetes#119733).
//
// What a kubelet mounts carries no UID, and its cache cannot be read from
// outside, so that a difference is concluded from what can be seen:
//
//	content   the files are not what the live object would give
//	time      the files were written before the live object was created, so
//	          that they are of another one, whatever their content
//
// It cannot see environment variables, pull secrets, subPath mounts (which never
// change), volumes of drivers, and what a kubelet would write next. Of a
// projected volume it does not see that the live object has lost a key.
//
// Contents are compared and never shown, nor are hashes of them.
package mounts
