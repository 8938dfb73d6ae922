// Package counted is what the watch guard has counted, handed to other processes
// of the node through a file: stats.json in the guard's directory. It holds
// numbers and words of the guard's own, and nothing of any object.
package counted
