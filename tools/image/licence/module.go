// Package licence collects the licences of what is linked into programs.
package licence

import (
	"cmp"
	"debug/buildinfo"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/mod/module"
)

// Standard is the path by which the standard library is known.
const Standard = "std"

// Module is a module as it was linked.
type Module struct {
	Path, Version string
	// Sum is its line's in go.sum; empty for the standard library.
	Sum string
}

func (m Module) String() string { return m.Path + "@" + m.Version }

// Linked are the modules that a program says it was linked from, the standard
// library first, without the program's own.
func Linked(program string) ([]Module, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("read what %s is made of: %w", program, err)
	}
	out := []Module{{Path: Standard, Version: info.GoVersion}}
	for _, d := range info.Deps {
		m := d
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version == "" {
			return nil, fmt.Errorf("%s is linked from the directory %s: nobody could tell which version that is", program, m.Path)
		}
		out = append(out, Module{m.Path, m.Version, m.Sum})
	}
	slices.SortFunc(out[1:], byName)
	return out, nil
}

// Union is each module once, in the order of names.
func Union(lists ...[]Module) []Module {
	all := slices.Concat(lists...)
	slices.SortFunc(all, byName)
	return slices.Compact(all)
}

func byName(a, b Module) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Version, b.Version))
}

// Cache is where modules are unpacked: GOMODCACHE and GOROOT.
type Cache struct{ Modules, Root string }

func (c Cache) directory(m Module) (string, error) {
	if m.Path == Standard {
		return c.Root, nil
	}
	path, err := module.EscapePath(m.Path)
	if err != nil {
		return "", fmt.Errorf("find the module %s: %w", m, err)
	}
	version, err := module.EscapeVersion(m.Version)
	if err != nil {
		return "", fmt.Errorf("find the module %s: %w", m, err)
	}
	return filepath.Join(c.Modules, filepath.FromSlash(path)+"@"+version), nil
}
