// Package view shows what an audit found, on the node and through the API server
// alike: as tables of at most 100 columns, as data, and as a picture.
package view
