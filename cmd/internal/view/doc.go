// Package view is how the project's programs show what the agent publishes:
// its status and its acts, on the node and through the API server alike.
package view
