// Package sbom writes down what an image is made of, as SPDX 2.3 in JSON.
package sbom

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdxlib"

	"github.com/nodekeeper/nodekeeper/tools/image/licence"
)

const (
	project = "https://github.com/nodekeeper/nodekeeper"
	own     = "Apache-2.0"
	unknown = "NOASSERTION"
)

// Part is one program of an image.
type Part struct {
	// Name is the file's in the image, SHA256 the digest of its bytes in hex.
	Name, SHA256 string
	Modules      []licence.Module
}

// Bill is what a document is made from. The same bill makes the same bytes.
type Bill struct {
	// Name is the document's, Version that of the programs.
	Name, Version string
	Created       time.Time
	Parts         []Part
	// Licences are those of all modules of the parts.
	Licences []licence.Licence
}

// Document is the bill in JSON. Its namespace, which must be another for another
// content, is the digest of what it says.
func (b Bill) Document() ([]byte, error) {
	doc := b.document()
	if err := distinct(doc.Packages); err != nil {
		return nil, fmt.Errorf("the bill of materials %s: %w", b.Name, err)
	}
	var told bytes.Buffer
	if err := write(doc, &told); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(told.Bytes())
	doc.DocumentNamespace = project + "/spdx/" + b.Name + "-" + hex.EncodeToString(sum[:])
	if err := spdxlib.ValidateDocument(doc); err != nil {
		return nil, fmt.Errorf("the bill of materials %s: %w", b.Name, err)
	}
	var out bytes.Buffer
	err := write(doc, &out)
	return out.Bytes(), err
}

// distinct is an error where two packages have one identifier: names are longer
// than the letters that SPDX allows.
func distinct(packages []*spdx.Package) error {
	names := map[common.ElementID]string{}
	for _, p := range packages {
		name := p.PackageName + "@" + p.PackageVersion
		if other, ok := names[p.PackageSPDXIdentifier]; ok {
			return fmt.Errorf("%s and %s have one identifier", other, name)
		}
		names[p.PackageSPDXIdentifier] = name
	}
	return nil
}

func write(doc *spdx.Document, to io.Writer) error {
	if err := json.Write(doc, to, json.Indent(" "), json.EscapeHTML(false)); err != nil {
		return fmt.Errorf("write the bill of materials %s: %w", doc.DocumentName, err)
	}
	return nil
}

func (b Bill) document() *spdx.Document {
	doc := &spdx.Document{
		SPDXVersion:    spdx.Version,
		DataLicense:    spdx.DataLicense,
		SPDXIdentifier: "DOCUMENT",
		DocumentName:   b.Name,
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "nodekeeper-image"}},
			Created:  b.Created.UTC().Format(time.RFC3339),
		},
	}
	image := part(b.Name, b.Version, own)
	image.PrimaryPackagePurpose = "CONTAINER"
	doc.Packages = append(doc.Packages, image)
	doc.Relationships = append(doc.Relationships, relation("DOCUMENT", "DESCRIBES", image.PackageSPDXIdentifier))
	for _, p := range b.Parts {
		program := part(p.Name, b.Version, own)
		program.PackageFileName = p.Name
		program.PrimaryPackagePurpose = "APPLICATION"
		program.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: p.SHA256}}
		doc.Packages = append(doc.Packages, program)
		doc.Relationships = append(doc.Relationships, relation(image.PackageSPDXIdentifier, "CONTAINS", program.PackageSPDXIdentifier))
		for _, m := range p.Modules {
			doc.Relationships = append(doc.Relationships, relation(program.PackageSPDXIdentifier, "STATIC_LINK", identifier(m.String())))
		}
	}
	for _, l := range b.Licences {
		doc.Packages = append(doc.Packages, library(l))
	}
	return doc
}

func library(l licence.Licence) *spdx.Package {
	m := l.Module
	p := part(m.Path, m.Version, l.Expression)
	p.PackageSPDXIdentifier = identifier(m.String())
	p.PrimaryPackagePurpose = "LIBRARY"
	// Where a module comes from is the builder's choice; what it is, its purl and
	// its sum say.
	locator := "pkg:golang/" + m.String()
	if m.Path == licence.Standard {
		p.PackageDownloadLocation = "https://go.dev/dl/" + m.Version + ".src.tar.gz"
		locator = "pkg:golang/std@" + m.Version[len("go"):]
	}
	if m.Sum != "" {
		p.PackageSourceInfo = "go.sum " + m.Sum
	}
	p.PackageExternalReferences = []*spdx.PackageExternalReference{{Category: "PACKAGE-MANAGER", RefType: "purl", Locator: locator}}
	return p
}

func part(name, version, expression string) *spdx.Package {
	return &spdx.Package{
		PackageName:               name,
		PackageSPDXIdentifier:     identifier(name),
		PackageVersion:            version,
		PackageDownloadLocation:   unknown,
		FilesAnalyzed:             false,
		IsFilesAnalyzedTagPresent: true,
		PackageLicenseConcluded:   unknown,
		PackageLicenseDeclared:    expression,
		PackageCopyrightText:      unknown,
	}
}

func relation(of common.ElementID, kind string, to common.ElementID) *spdx.Relationship {
	return &spdx.Relationship{RefA: common.DocElementID{ElementRefID: of}, Relationship: kind, RefB: common.DocElementID{ElementRefID: to}}
}

var foreign = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// identifier is a name in the letters that SPDX allows.
func identifier(name string) common.ElementID {
	return common.ElementID(foreign.ReplaceAllString(name, "-"))
}
