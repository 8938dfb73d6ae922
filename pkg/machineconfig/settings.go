package machineconfig

import (
	"bytes"
	"cmp"
	"errors"
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

// checkSettings says what is wrong in settings of one's own, and where something
// else is asked for than they say. Their defaults act and keep logs, so what they
// leave out counts too.
func (o Options) checkSettings() error {
	name := cmp.Or(o.SettingsName, "settings")
	var errs []error
	wrong := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", name, fmt.Sprintf(format, args...)))
	}
	if bytes.HasPrefix(bytes.TrimLeft(o.Settings, "\r\n"), []byte(" ")) {
		wrong("the first line must not be indented")
	}
	cfg, err := config.Parse(name, o.Settings)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	acts, said := !cfg.Restart.DryRun, o.Features != nil
	switch {
	case acts && o.DryRun:
		wrong("restart acts unless the settings say restart.dryRun: true, against --dry-run: write that, or leave out --dry-run")
	case !acts && o.Act:
		wrong("restart.dryRun is true, against --dry-run=false: write false, or leave out --dry-run=false")
	case acts && said && !o.has(Restart):
		wrong("restart acts unless the settings say restart.dryRun: true, and --features is without restart: write that, or name restart")
	}
	switch {
	case cfg.Logs.Enabled && said && !o.has(Logs):
		wrong("logs are kept unless the settings say logs.enabled: false, and --features is without logs: write that, or name logs")
	case !cfg.Logs.Enabled && o.has(Logs):
		wrong("logs.enabled is false, and --features has logs: write true, or leave out logs")
	}
	return errors.Join(errs...)
}

// Effect is what the rendered settings have the nodes do, in a few words. An
// error is what is wrong in Settings.
func (o Options) Effect() (string, error) {
	cfg, err := config.Parse(cmp.Or(o.SettingsName, "settings"), []byte(o.settings()))
	if err != nil {
		return "", err
	}
	restart := "restart ACTS"
	if cfg.Restart.DryRun {
		restart = "restart in dry run"
	}
	return fmt.Sprintf("%s, logs %s, proxy %s", restart, onOff(cfg.Logs.Enabled), onOff(o.has(Proxy))), nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
