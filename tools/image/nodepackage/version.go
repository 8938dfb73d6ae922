package nodepackage

import (
	"regexp"
	"strings"
)

// version is a package's, in the parts that both kinds put together in their own
// way: number~before+after.
type version struct{ number, before, after string }

var (
	released = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+)(?:-(.+))?$`)
	since    = regexp.MustCompile(`^[0-9]+-g[0-9a-f]+(-dirty)?$|^dirty$`)
	foreign  = regexp.MustCompile(`[^A-Za-z0-9.]+`)
)

// parse reads what git describe says: v1.2.3, v1.2.3-rc.1, v1.2.3-4-gabcdef0, or a
// commit. Of a tag with letters and commits since, the commits are left out of
// what counts: v1.2.3-rc.1-4-gabcdef0 is before v1.2.3.
func parse(text string) version {
	m := released.FindStringSubmatch(text)
	switch {
	case m == nil:
		return version{number: "0.0.0", after: clean(text)}
	case m[2] == "":
		return version{number: m[1]}
	case since.MatchString(m[2]):
		return version{number: m[1], after: clean(m[2])}
	}
	return version{number: m[1], before: clean(m[2])}
}

func clean(text string) string {
	return strings.Trim(foreign.ReplaceAllString(text, "."), ".")
}
