// Package shape says whether a request is the one that the watch guard answers
// itself: a kubelet's LIST or WATCH of one Secret or one ConfigMap by name.
//
// The rule is narrow on purpose. What is not exactly what a kubelet of some
// release sends, down to an unknown, repeated, empty or oddly written
// parameter, is not understood, and what is not understood goes to the API
// server untouched. A new client can so never get a wrong answer, only no help.
package shape
