// Package pace spaces the requests that the guard makes of its own at the API
// server: a token bucket with a line per urgency.
//
// What a kubelet waits for goes first, and on credit: the kubelet gives a first
// read one second (kubelet pkg/kubelet/util/manager/watch_based_manager.go Get,
// v1.37), so a First that waited for a token behind two thousand others would
// fail its pod's mount and come back with more load. Credit is bounded, is repaid
// before anything else moves, and a cap on what is in flight lets a slow API
// server slow the burst down. The cap grows while there are answers, since one
// that is far away is slow and not busy, as far as its distance asks for, and
// shrinks as soon as there are none.
//
// In any window of t seconds a bucket lets through at most Burst + Debt + Rate*t,
// and without First at most Burst + Rate*t.
//
// Time is package time's; tests run it in a testing/synctest bubble.
package pace
