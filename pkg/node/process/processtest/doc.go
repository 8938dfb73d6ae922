// Package processtest builds /proc and cgroup trees of plain files for tests,
// as package process reads them.
package processtest
