package oci

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdxlib"

	"github.com/nodekeeper/nodekeeper/tools/image/content"
	"github.com/nodekeeper/nodekeeper/tools/image/licence"
	"github.com/nodekeeper/nodekeeper/tools/image/program"
)

var when = time.Unix(1_700_000_000, 0)

// The smallest program stands for all, so that a build takes a second.
func small(t *testing.T) Build {
	t.Helper()
	linux := program.Platform{OS: "linux", Architecture: "amd64"}
	hook := func(name string) program.Program { return program.Program{Name: name, Package: "./cmd/hook"} }
	return Build{
		Source:   program.Source{Root: "../../..", Version: "v1.2.3", Go: "go"},
		Revision: "0123456789abcdef", Time: when,
		Platforms:       []program.Platform{linux, {OS: "linux", Architecture: "arm64"}},
		Programs:        []program.Program{hook("nodekeeper"), hook("nodekeeper-hook")},
		Plugin:          hook("kubectl-nodekeeper"),
		PluginPlatforms: []program.Platform{linux},
	}
}

func images(t *testing.T, b Build) []Image {
	t.Helper()
	fetch(t, b.Source)
	// From here on nothing needs the network.
	t.Setenv("GOPROXY", "off")
	out, err := b.Images(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTwoBuildsHaveOneDigest(t *testing.T) {
	b := small(t)
	first := digestOf(t, b.Index(images(t, b)))
	// What must not matter: where the source is, when, and what the environment says.
	elsewhere := filepath.Join(t.TempDir(), "source")
	link, err := filepath.Abs(b.Source.Root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(elsewhere, source{os.DirFS(link)}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOAMD64", "v3")
	t.Setenv("GOFLAGS", "-tags=other -buildvcs=auto")
	t.Setenv("TZ", "Asia/Tokyo")
	b.Source.Root = elsewhere
	if second := digestOf(t, b.Index(images(t, b))); second != first {
		t.Errorf("%s, and then %s", first, second)
	}
	b.Platforms, b.Programs, b.PluginPlatforms = b.Platforms[:1], b.Programs[:1], nil
	same := digestOf(t, b.Index(images(t, b)))
	for name, change := range map[string]func(*Build){
		"version": func(b *Build) { b.Source.Version = "v1.2.4" },
		"time":    func(b *Build) { b.Time = b.Time.Add(time.Second) },
		"commit":  func(b *Build) { b.Revision = "fedcba" },
	} {
		other := b
		change(&other)
		if digestOf(t, other.Index(images(t, other))) == same {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

// TestImage looks at one build from all sides.
func TestImage(t *testing.T) {
	b := small(t)
	made := images(t, b)
	t.Run("holds this and nothing else", func(t *testing.T) { holdsThisAlone(t, made) })
	t.Run("every entry is root's, of one time and mode", func(t *testing.T) { entriesAreAlike(t, made) })
	t.Run("says what it is and runs as nobody", func(t *testing.T) { saysWhatItIs(t, b, made) })
	t.Run("its bill of materials names every program and module", func(t *testing.T) { billIsComplete(t, made[0]) })
	t.Run("is written, read back and pushed", func(t *testing.T) { isPushed(t, b, made) })
}

func holdsThisAlone(t *testing.T, made []Image) {
	for _, i := range made {
		t.Run(i.Platform.Architecture, func(t *testing.T) {
			files := contents(t, i.Image)
			for _, want := range []string{"nodekeeper", "nodekeeper-hook", "plugins/kubectl-nodekeeper-linux-amd64"} {
				if !bytes.HasPrefix(files[want], []byte("\x7fELF")) {
					t.Errorf("there is no program %s", want)
				}
				delete(files, want)
			}
			for _, want := range []string{"licenses/LICENSE", "licenses/std@" + runtime.Version() + "/LICENSE", "sbom.spdx.json"} {
				if len(files[want]) == 0 {
					t.Errorf("there is no %s", want)
				}
			}
			delete(files, "sbom.spdx.json")
			for name := range files {
				if !strings.HasPrefix(name, "licenses/") {
					t.Errorf("it holds %s", name)
				}
			}
		})
	}
}

func entriesAreAlike(t *testing.T, made []Image) {
	for _, i := range made {
		seen := map[string]bool{}
		err := Entries(i.Image, func(h *tar.Header, _ io.Reader) error {
			mode := int64(0o644)
			if h.Typeflag == tar.TypeDir || !strings.Contains(h.Name, "/") && strings.HasPrefix(h.Name, "nodekeeper") || strings.HasPrefix(h.Name, "plugins/") {
				mode = 0o755
			}
			if h.Mode != mode || h.Uid != 0 || h.Gid != 0 || h.Uname+h.Gname != "" || !h.ModTime.Equal(when) {
				t.Errorf("%s: mode %o of %d:%d %q, %v", h.Name, h.Mode, h.Uid, h.Gid, h.Uname, h.ModTime)
			}
			if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir {
				t.Errorf("%s is of type %q", h.Name, h.Typeflag)
			}
			if dir := filepath.Dir(strings.TrimSuffix(h.Name, "/")); dir != "." && !seen[dir+"/"] {
				t.Errorf("%s comes before its directory", h.Name)
			}
			if seen[h.Name] {
				t.Errorf("%s is there twice", h.Name)
			}
			seen[h.Name] = true
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func saysWhatItIs(t *testing.T, b Build, made []Image) {
	index, err := b.Index(made).IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for n, i := range made {
		if what := index.Manifests[n].ArtifactType; what != "" {
			t.Errorf("image %d is said to be %q, which older copying programs leave out", n, what)
		}
		config, err := i.Image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		c := config.Config
		if !slices.Equal(c.Entrypoint, []string{"/nodekeeper"}) || c.Cmd != nil || c.User != "65532:65532" || !slices.Equal(c.Env, []string{"PATH=/"}) {
			t.Errorf("%+v", c)
		}
		if config.OS != i.Platform.OS || config.Architecture != i.Platform.Architecture || !config.Created.Time.Equal(when) {
			t.Errorf("%s/%s of %v", config.OS, config.Architecture, config.Created)
		}
		manifest, err := i.Image.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		for where, labels := range map[string]map[string]string{"labels": c.Labels, "annotations": manifest.Annotations, "index": index.Annotations} {
			if !maps.Equal(labels, b.Labels()) {
				t.Errorf("%s: %v", where, labels)
			}
		}
		for _, key := range []string{"version", "revision", "source", "licenses", "title"} {
			if c.Labels["org.opencontainers.image."+key] == "" {
				t.Errorf("it does not say its %s", key)
			}
		}
		if p := index.Manifests[n].Platform; p == nil || !p.Satisfies(v1.Platform{OS: i.Platform.OS, Architecture: i.Platform.Architecture}) {
			t.Errorf("in the index it is for %v", p)
		}
	}
}

func billIsComplete(t *testing.T, i Image) {
	files := contents(t, i.Image)
	if !bytes.Equal(files["sbom.spdx.json"], i.SBOM) {
		t.Error("beside the image is another one than inside")
	}
	doc, err := json.Read(bytes.NewReader(i.SBOM))
	if err != nil {
		t.Fatal(err)
	}
	if err := spdxlib.ValidateDocument(doc); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(doc.DocumentNamespace, "https://") || doc.CreationInfo.Created != "2023-11-14T22:13:20Z" {
		t.Errorf("%s, created %s", doc.DocumentNamespace, doc.CreationInfo.Created)
	}
	sums, declared := map[string]string{}, map[string]string{}
	for _, p := range doc.Packages {
		declared[p.PackageName+"@"+p.PackageVersion] = p.PackageLicenseDeclared
		for _, c := range p.PackageChecksums {
			sums[p.PackageFileName] = c.Value
		}
	}
	for name, content := range files {
		if !bytes.HasPrefix(content, []byte("\x7fELF")) {
			continue
		}
		sum := sha256.Sum256(content)
		if sums["/"+name] != hex.EncodeToString(sum[:]) {
			t.Errorf("the digest of %s is not there", name)
		}
		at := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(at, content, 0o644); err != nil {
			t.Fatal(err)
		}
		modules, err := licence.Linked(at)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range modules {
			if declared[m.String()] == "" {
				t.Errorf("%s, which is in %s, is not there", m, name)
			}
			if !slices.ContainsFunc(slices.Collect(maps.Keys(files)), func(f string) bool { return strings.HasPrefix(f, "licenses/"+m.String()+"/") }) {
				t.Errorf("%s, which is in %s, has no licence", m, name)
			}
		}
	}
}

func isPushed(t *testing.T, b Build, made []Image) {
	index := b.Index(made)
	want := digestOf(t, index)
	dir := filepath.Join(t.TempDir(), "image")
	for range 2 { // The second replaces the first.
		if err := Write(dir, index, b.Source.Version); err != nil {
			t.Fatal(err)
		}
	}
	back, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := digestOf(t, back); got != want {
		t.Errorf("%s is read back as %s", want, got)
	}
	if err := validate.Index(back); err != nil {
		t.Error(err)
	}
	var sums []string
	for _, name := range []string{"one.tar", "two.tar"} {
		path := filepath.Join(t.TempDir(), name)
		if err := Archive(path, dir, when); err != nil {
			t.Fatal(err)
		}
		sum, err := content.Digest(path)
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, sum)
	}
	if sums[0] != sums[1] {
		t.Error("two archives of one layout differ")
	}

	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	repository := strings.TrimPrefix(server.URL, "http://") + "/some/nodekeeper"
	for _, tag := range []string{"", ":v1.2.3"} {
		got, err := Push(t.Context(), back, repository+tag)
		if err != nil {
			t.Fatal(err)
		}
		if got != repository+"@"+want {
			t.Errorf("it was pushed as %s", got)
		}
		ref, err := name.ParseReference(repository + tag)
		if tag == "" {
			ref, err = name.ParseReference(got)
		}
		if err != nil {
			t.Fatal(err)
		}
		pulled, err := remote.Index(ref)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(pulled); err != nil {
			t.Error(err)
		}
	}
}

func TestALayoutThatIsNotOursIsAnError(t *testing.T) {
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("an empty directory is a layout")
	}
}
