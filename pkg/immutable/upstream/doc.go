// Package upstream asks an API server for one Secret or one ConfigMap by name:
// a LIST or a WATCH, as a node identity may (kubernetes
// plugin/pkg/auth/authorizer/node/node_authorizer.go, v1.37: only with a
// namespace and a name).
//
// The requests are the guard's own. They carry its own User-Agent, so that an
// audit log tells them from the kubelet's, and no header of anybody else's.
package upstream
