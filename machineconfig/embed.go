// Package machineconfig holds what nodekeeper is brought onto OpenShift nodes
// with: Butane sources (*.bu), the units and scripts that they include, objects
// for the cluster, and what to do with them. ${ROLE} and ${IMAGE} are filled in;
// a line ${include NAME} stands for a file of this directory or of packaging.
package machineconfig

import "embed"

// Sources are the files, by name.
//
//go:embed *.bu *.sh *.service *.conf cluster guide
var Sources embed.FS
