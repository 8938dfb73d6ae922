package machineconfig

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/nodekeeper/nodekeeper/machineconfig"
	"github.com/nodekeeper/nodekeeper/packaging"
)

// packaged are the files that other ways of installing share.
var packaged = map[string]string{
	"nodekeeper.service":              packaging.AgentUnit,
	"nodekeeper.socket":               packaging.AgentSocket,
	"nodekeeper-proxy.service":        packaging.ProxyUnit,
	"nodekeeper-proxy.socket":         packaging.ProxySocket,
	"nodekeeper-proxy-revert.service": packaging.ProxyRevertUnit,
	"kubelet-wrapper":                 packaging.KubeletWrapper,
}

var (
	value   = regexp.MustCompile(`\$\{[A-Z]+\}`)
	include = regexp.MustCompile(`^( *)\$\{include ([a-z.-]+)\}$`)
)

// expander fills in sources.
type expander struct {
	// values stand for ${NAME}; texts can be included beside the files.
	values, texts map[string]string
}

// expand reads a source and fills it in. What it includes is taken as it is.
func (e expander) expand(name string) (string, error) {
	source, err := fs.ReadFile(machineconfig.Sources, name)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for line := range strings.Lines(string(source)) {
		if m := include.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			text, err := e.included(m[2])
			if err != nil {
				return "", fmt.Errorf("%s: %w", name, err)
			}
			indent(&out, m[1], text)
			continue
		}
		out.WriteString(value.ReplaceAllStringFunc(line, func(v string) string {
			text, ok := e.values[v[2:len(v)-1]]
			if !ok {
				err = fmt.Errorf("%s: %s means nothing", name, v)
			}
			return text
		}))
	}
	return out.String(), err
}

func (e expander) included(name string) (string, error) {
	if text, ok := e.texts[name]; ok {
		return text, nil
	}
	if text, ok := packaged[name]; ok {
		return text, nil
	}
	text, err := fs.ReadFile(machineconfig.Sources, name)
	return string(text), err
}

// indent writes a text as the body of a YAML block scalar. Empty lines stay so.
func indent(out *strings.Builder, by, text string) {
	for line := range strings.Lines(text) {
		if line != "\n" {
			out.WriteString(by)
		}
		out.WriteString(strings.TrimSuffix(line, "\n") + "\n")
	}
}
