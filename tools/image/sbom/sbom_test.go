package sbom

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdxlib"

	"github.com/nodekeeper/nodekeeper/tools/image/licence"
)

func bill() Bill {
	std := licence.Module{Path: licence.Standard, Version: "go1.2.3"}
	cobra := licence.Module{Path: "github.com/spf13/cobra", Version: "v1.2.3", Sum: "h1:abc="}
	return Bill{
		Name: "image", Version: "v1.0.0", Created: time.Unix(1_700_000_000, 0),
		Parts: []Part{
			{Name: "/one", SHA256: strings.Repeat("1", 64), Modules: []licence.Module{std, cobra}},
			{Name: "/two", SHA256: strings.Repeat("2", 64), Modules: []licence.Module{std}},
		},
		Licences: []licence.Licence{{Module: std, Expression: "BSD-3-Clause"}, {Module: cobra, Expression: "Apache-2.0"}},
	}
}

func document(t *testing.T, b Bill) ([]byte, *spdx.Document) {
	t.Helper()
	text, err := b.Document()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := spdxlib.ValidateDocument(doc); err != nil {
		t.Error(err)
	}
	return text, doc
}

func TestADocumentSaysWhichProgramHasWhichModule(t *testing.T) {
	text, doc := document(t, bill())
	if doc.SPDXVersion != "SPDX-2.3" || doc.DataLicense != "CC0-1.0" || doc.CreationInfo.Created != "2023-11-14T22:13:20Z" {
		t.Errorf("%s, %s, %s", doc.SPDXVersion, doc.DataLicense, doc.CreationInfo.Created)
	}
	seen := map[string]bool{}
	for _, p := range doc.Packages {
		id := string(p.PackageSPDXIdentifier)
		if seen[id] {
			t.Errorf("%s is there twice", id)
		}
		seen[id] = true
		if p.FilesAnalyzed || p.PackageDownloadLocation == "" || p.PackageLicenseDeclared == "" || p.PackageCopyrightText == "" {
			t.Errorf("%+v", p)
		}
	}
	linked := map[string]int{}
	for _, r := range doc.Relationships {
		if !seen[string(r.RefA.ElementRefID)] && r.RefA.ElementRefID != "DOCUMENT" || !seen[string(r.RefB.ElementRefID)] {
			t.Errorf("%v says something of what is not there", r)
		}
		if r.Relationship == "STATIC_LINK" {
			linked[string(r.RefA.ElementRefID)]++
		}
	}
	if linked["-one"] != 2 || linked["-two"] != 1 {
		t.Errorf("%v", linked)
	}
	for _, want := range []string{"pkg:golang/github.com/spf13/cobra@v1.2.3", "pkg:golang/std@1.2.3", "go.sum h1:abc="} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("it does not say %s", want)
		}
	}
}

func TestTheNamespaceIsThatOfTheContent(t *testing.T) {
	first, doc := document(t, bill())
	again, _ := document(t, bill())
	if !bytes.Equal(first, again) {
		t.Error("the same bill is another document")
	}
	other := bill()
	other.Parts[0].SHA256 = strings.Repeat("3", 64)
	if _, o := document(t, other); o.DocumentNamespace == doc.DocumentNamespace {
		t.Errorf("another program has the namespace %s too", doc.DocumentNamespace)
	}
}

func TestAModuleWithoutALicenceIsNoDocument(t *testing.T) {
	b := bill()
	b.Licences = b.Licences[:1]
	if _, err := b.Document(); err == nil {
		t.Error("a program is linked from a module that is not listed")
	}
}

func TestTwoModulesWithOneIdentifierAreNoDocument(t *testing.T) {
	b := bill()
	for _, path := range []string{"example.com/a_b", "example.com/a/b"} {
		b.Licences = append(b.Licences, licence.Licence{Module: licence.Module{Path: path, Version: "v1.0.0"}, Expression: "MIT"})
	}
	if _, err := b.Document(); err == nil {
		t.Error("nobody could tell them apart")
	}
}
