package licence

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestTheLicenceOfAModuleIsThatOfTheFilesAtItsTop(t *testing.T) {
	mit, apache, patents := mitText, text(t, "../../../LICENSE"), "Additional IP rights\n"
	for name, c := range map[string]struct {
		files      map[string]string
		expression string
		names      []string
	}{
		"one": {map[string]string{"LICENSE": mit}, "MIT", []string{"LICENSE"}},
		"under another name, with a notice": {
			map[string]string{"COPYING.txt": apache, "NOTICE": "by us", "PATENTS": patents, "license.go": "package x"},
			"Apache-2.0", []string{"COPYING.txt", "NOTICE", "PATENTS"},
		},
		"two": {map[string]string{"LICENSE-MIT": mit, "LICENSE": apache}, "Apache-2.0 AND MIT", []string{"LICENSE", "LICENSE-MIT"}},
		"that of copied code is passed on": {
			map[string]string{"LICENSE": mit, "third_party/x/LICENSE": apache, "testdata/LICENSE": apache, ".git/LICENSE": apache},
			"MIT", []string{"LICENSE", "third_party/x/LICENSE"},
		},
		"none":             {map[string]string{"README": mit}, "", nil},
		"only copied code": {map[string]string{"third_party/x/LICENSE": apache}, "", nil},
		"not known":        {map[string]string{"LICENSE": "You may use this on Sundays, and only for what is good."}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			cache := Cache{Modules: t.TempDir()}
			dir := filepath.Join(cache.Modules, "example.com/!some@v1.2.3")
			for name, text := range c.files {
				write(t, filepath.Join(dir, name), text)
			}
			got, err := cache.Of(Module{Path: "example.com/Some", Version: "v1.2.3"})
			if c.expression == "" {
				if err == nil {
					t.Errorf("%q is taken for a licence", got.Expression)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, x := range got.Texts {
				names = append(names, x.Name)
			}
			if got.Expression != c.expression || !slices.Equal(names, c.names) {
				t.Errorf("%q of %q instead of %q of %q", got.Expression, names, c.expression, c.names)
			}
		})
	}
}

func TestAModuleThatIsNotThereIsAnError(t *testing.T) {
	if _, err := (Cache{Modules: t.TempDir()}).Of(Module{Path: "example.com/some", Version: "v1.2.3"}); err == nil {
		t.Error("it has a licence")
	}
}

func TestAProgramSaysWhatItIsLinkedFrom(t *testing.T) {
	self := filepath.Join(t.TempDir(), "image")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", self, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := Linked(self)
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Path != Standard || !slices.ContainsFunc(got, func(m Module) bool { return m.Path == "github.com/google/licensecheck" && m.Sum != "" }) {
		t.Errorf("%v", got)
	}
	if u := Union(got, got); len(u) != len(got) {
		t.Errorf("%d of twice %d", len(u), len(got))
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const mitText = `MIT License

Copyright (c) 2020 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`
