// Package house keeps the house plan: which package may import which.
package house

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/nodekeeper/nodekeeper/"

// rows is the house plan, top row first. A package may import those of lower
// rows only.
var rows = [][]string{
	{"cmd"},
	{"pkg/report"},
	{"pkg/agent"},
	{"pkg/remedy", "pkg/machineconfig"},
	{"pkg/restartpolicy", "pkg/logretention", "pkg/immutable"},
	{"pkg/node", "pkg/lifecycle"},
	{"pkg/config"},
	{"internal", "packaging", "machineconfig"},
}

// pure lists what the pure packages may import outside the module.
var pure = map[string][]string{
	"pkg/restartpolicy": {"fmt", "hash/fnv", "slices", "strconv", "strings", "time", "cmp", "maps", "k8s.io/api/core/v1"},
}

func TestDependenciesPointDownwards(t *testing.T) {
	for file, imports := range sources(t) {
		from, room := place(file)
		if from < 0 {
			continue
		}
		for _, imp := range imports {
			inside, ok := strings.CutPrefix(imp, module)
			if !ok {
				continue
			}
			to, other := place(inside)
			switch {
			case to < 0:
				t.Errorf("%s imports %s, which is not in the house plan", file, inside)
			case to < from, to == from && room != other:
				t.Errorf("%s imports %s: dependencies point downwards only", file, inside)
			}
			if filepath.Dir(file) == "pkg/node" && strings.HasPrefix(inside, "pkg/node/") {
				t.Errorf("%s imports its own adapter %s", file, inside)
			}
		}
	}
}

func TestPolicyIsPure(t *testing.T) {
	for file, imports := range sources(t) {
		allowed, ok := pure[filepath.Dir(file)]
		if !ok {
			continue
		}
		for _, imp := range imports {
			if strings.HasPrefix(imp, module) {
				continue
			}
			found := false
			for _, a := range allowed {
				found = found || a == imp
			}
			if !found {
				t.Errorf("%s imports %q: the policy does no I/O and knows no clock", file, imp)
			}
		}
	}
}

// place is the row and the room that a path belongs to; -1 for none.
func place(path string) (row int, room string) {
	for i, r := range rows {
		for _, room := range r {
			if path == room || strings.HasPrefix(path, room+"/") {
				return i, room
			}
		}
	}
	return -1, ""
}

// sources are the non-test Go files of the product with their imports, by path
// from the top of the repository.
func sources(t *testing.T) map[string][]string {
	t.Helper()
	top := "../.."
	out := map[string][]string{}
	for _, dir := range []string{"cmd", "pkg"} {
		err := filepath.WalkDir(filepath.Join(top, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(top, path)
			if err != nil {
				return err
			}
			for _, imp := range f.Imports {
				p, err := strconv.Unquote(imp.Path.Value)
				if err != nil {
					return err
				}
				out[rel] = append(out[rel], p)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(out) == 0 {
		t.Fatal("no sources found")
	}
	return out
}
