package machineconfig

import (
	"fmt"
	"strings"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

// settings is the agent's configuration. It says all that a feature depends on,
// so that it means the same when a default changes.
func (o Options) settings() string {
	if o.Settings != nil {
		return strings.TrimLeft(string(o.Settings), "\r\n")
	}
	return fmt.Sprintf(`# All settings: nodekeeper config print-defaults
apiVersion: %s
kind: %s
restart:
  dryRun: %t
logs:
  enabled: %t
`, config.APIVersion, config.Kind, !o.Act, o.has(Logs))
}
