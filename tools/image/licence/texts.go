package licence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// Text is one file of a module that says under what conditions it may be used.
type Text struct {
	// Name is the file's below the module, with slashes.
	Name string
	Text []byte
}

// Licence is what a module is under.
type Licence struct {
	Module Module
	// Expression is SPDX's, of the files at the module's top.
	Expression string
	Texts      []Text
}

// certain is the part of a text, in percent, that must be a known licence's. The
// rest are lines of copyright.
const certain = 75

var (
	named = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|copyright|notice|patents)([._-].*)?$`)
	grant = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)`)
)

// Of reads the licence of a module. A module without one, or with one that is
// not known, is an error: what nobody may pass on shall not get into an image.
func (c Cache) Of(m Module) (Licence, error) {
	dir, err := c.directory(m)
	if err != nil {
		return Licence{}, err
	}
	texts, err := texts(dir, m.Path == Standard)
	if err != nil {
		return Licence{}, fmt.Errorf("read the licence of %s: %w", m, err)
	}
	expression, err := identify(texts)
	if err != nil {
		return Licence{}, fmt.Errorf("the licence of %s: %w", m, err)
	}
	return Licence{m, expression, texts}, nil
}

// texts are all such files of a module but those of its test data, in the order
// of names. Those below the top belong to code that was copied into the module,
// whether it is linked or not.
func texts(dir string, topOnly bool) ([]Text, error) {
	var out []Text
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != dir && (topOnly || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case !d.Type().IsRegular() || !named.MatchString(d.Name()) || filepath.Ext(file) == ".go":
			return nil
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		out = append(out, Text{filepath.ToSlash(name), text})
		return nil
	})
	return out, err
}

// identify is the SPDX expression of the licences at the top.
func identify(texts []Text) (string, error) {
	var ids []string
	for _, t := range texts {
		if path.Dir(t.Name) != "." || !grant.MatchString(t.Name) {
			continue
		}
		cover := licensecheck.Scan(t.Text)
		if cover.Percent < certain {
			return "", fmt.Errorf("%s is not a known one: %.0f %% of it look like %v", t.Name, cover.Percent, cover.Match)
		}
		for _, m := range cover.Match {
			if !m.IsURL {
				ids = append(ids, m.ID)
			}
		}
	}
	if len(ids) == 0 {
		return "", errors.New("there is none")
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " AND "), nil
}
