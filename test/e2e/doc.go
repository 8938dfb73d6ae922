// Package e2e holds the node end-to-end tests: a real node in a box, a fault,
// and the agent, which is expected to take the lowest sufficient step, or none.
//
// Each test boots a box of its own and runs beside the others. Labels as in
// Kubernetes' e2e_node pick a part of them:
//
//	go test ./e2e -label-filter='!Slow && Feature:Restart'
package e2e
