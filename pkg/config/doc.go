// Package config holds the one configuration file of the node-side parts,
// /etc/nodekeeper/config.yaml: its types, defaults, strict reading and
// validation. It reads files and knows nothing of what the settings do.
package config
