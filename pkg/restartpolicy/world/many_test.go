//go:build world && !race

package world

// many is how many timelines each property is tried on by default.
const many = 200
