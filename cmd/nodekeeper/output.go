package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// The forms of output. The table has at most width columns; wide is as wide as
// it takes; json and yaml are an API.
const (
	asTable = "table"
	asWide  = "wide"
	asJSON  = "json"
	asYAML  = "yaml"

	width = 100
)

// output is the flag -o.
type output string

var forms = []string{asTable, asWide, asJSON, asYAML}

func (o *output) add(c *cobra.Command) {
	*o = asTable
	c.Flags().VarP(o, "output", "o", strings.Join(forms, ", "))
}

func (o *output) Set(text string) error {
	if !slices.Contains(forms, text) {
		return fmt.Errorf("%q is none of %s", text, strings.Join(forms, ", "))
	}
	*o = output(text)
	return nil
}

func (o *output) String() string { return string(*o) }
func (o *output) Type() string   { return "form" }

// data writes v as JSON or YAML, and tells whether it was asked to.
func (o output) data(w io.Writer, v any) (written bool, err error) {
	var text []byte
	switch o {
	case asJSON:
		text, err = json.MarshalIndent(v, "", "  ")
		text = append(text, '\n')
	case asYAML:
		text, err = yaml.Marshal(v)
	default:
		return false, nil
	}
	if err == nil {
		_, err = w.Write(text)
	}
	return true, err
}
