// Package view is how the project's programs show crash records and the logs
// in them, on the node and through the API server alike: the same flags, the
// same tables, the same words.
package view
