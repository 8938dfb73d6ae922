//go:build world && race

package world

// many is how many timelines each property is tried on by default: the race
// detector makes each of them ten times as dear.
const many = 50
