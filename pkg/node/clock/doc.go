// Package clock reads the node's two clocks and its boot ID.
package clock
