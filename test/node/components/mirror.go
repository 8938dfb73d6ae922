package components

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is where the packages of a Debian suite come from.
type source struct {
	mirror, keyring string
}

// debianSuite is this machine's own when it is Debian, so that programs built
// here against its libraries run in the box.
func debianSuite() string {
	release := readRelease()
	if release["ID"] == "debian" && release["VERSION_CODENAME"] != "" {
		return release["VERSION_CODENAME"]
	}
	return defaultSuite
}

func readRelease() map[string]string {
	values := map[string]string{}
	data, _ := os.ReadFile("/etc/os-release")
	for line := range strings.SplitSeq(string(data), "\n") {
		if name, value, found := strings.Cut(line, "="); found {
			values[name] = strings.Trim(value, `"'`)
		}
	}
	return values
}

// aptSource finds the mirror of a suite in the machine's apt configuration;
// the zero value leaves the choice to debootstrap.
func aptSource(suite string) source {
	files, _ := filepath.Glob("/etc/apt/sources.list.d/*")
	for _, file := range append([]string{"/etc/apt/sources.list"}, files...) {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		parse := parseSourceLines
		if strings.HasSuffix(file, ".sources") {
			parse = parseSourceStanzas
		}
		if found, ok := parse(string(data), suite); ok {
			return found
		}
	}
	return source{}
}

// parseSourceLines reads the form "deb [options] URI SUITE COMPONENT...".
func parseSourceLines(text, suite string) (source, bool) {
	for line := range strings.SplitSeq(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "deb" {
			continue
		}
		var found source
		fields = fields[1:]
		if len(fields) > 0 && strings.HasPrefix(fields[0], "[") {
			for len(fields) > 0 {
				option := fields[0]
				fields = fields[1:]
				if value, ok := strings.CutPrefix(strings.Trim(option, "[]"), "signed-by="); ok {
					found.keyring = value
				}
				if strings.HasSuffix(option, "]") {
					break
				}
			}
		}
		if len(fields) > 2 && fields[1] == suite && slices.Contains(fields[2:], "main") {
			found.mirror = fields[0]
			return found, true
		}
	}
	return source{}, false
}

// parseSourceStanzas reads the form of fields, one stanza a source.
func parseSourceStanzas(text, suite string) (source, bool) {
	for stanza := range strings.SplitSeq(text, "\n\n") {
		fields := map[string]string{}
		for line := range strings.SplitSeq(stanza, "\n") {
			name, value, found := strings.Cut(line, ":")
			if found && !strings.HasPrefix(line, "#") {
				fields[strings.ToLower(name)] = strings.TrimSpace(value)
			}
		}
		addresses := strings.Fields(fields["uris"])
		if len(addresses) == 0 || !slices.Contains(strings.Fields(fields["suites"]), suite) ||
			!slices.Contains(strings.Fields(fields["components"]), "main") {
			continue
		}
		found := source{mirror: addresses[0]}
		if strings.HasPrefix(fields["signed-by"], "/") {
			found.keyring = fields["signed-by"]
		}
		return found, true
	}
	return source{}, false
}
