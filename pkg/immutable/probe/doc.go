// Package probe asks the proxy itself, the way the kubelet does, and climbs a
// ladder when it is sick: new connections to the API server, a bypass, and, by
// silence, the service manager's watchdog.
//
// Only what the proxy can be blamed for makes it sick. A kubelet that is silent
// and an API server that fails or does not answer are never a reason for
// anything: a proxy that took them for one turned its own doubt into an outage.
package probe
