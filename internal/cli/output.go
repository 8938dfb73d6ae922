package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// Form is the flag -o. The table has at most Width columns; wide is as wide as
// it takes; json and yaml are an API.
type Form string

// The forms of output.
const (
	AsTable Form = "table"
	AsWide  Form = "wide"
	AsJSON  Form = "json"
	AsYAML  Form = "yaml"
)

// Width is how many columns a table has at most.
const Width = 100

var forms = []string{string(AsTable), string(AsWide), string(AsJSON), string(AsYAML)}

// Add adds the flag.
func (f *Form) Add(flags *pflag.FlagSet) {
	*f = AsTable
	flags.VarP(f, "output", "o", strings.Join(forms, ", "))
}

// Set, String and Type make it a flag.
func (f *Form) Set(text string) error {
	if !slices.Contains(forms, text) {
		return fmt.Errorf("%q is none of %s", text, strings.Join(forms, ", "))
	}
	*f = Form(text)
	return nil
}

func (f *Form) String() string { return string(*f) }

// Type is what help calls the flag's value.
func (f *Form) Type() string { return "form" }

// Limit is how wide a table of this form may be; 0 for as wide as it takes.
func (f Form) Limit() int {
	if f == AsWide {
		return 0
	}
	return Width
}

// Data writes v as JSON or YAML, and tells whether it was asked to.
func (f Form) Data(w io.Writer, v any) (written bool, err error) {
	var text []byte
	switch f {
	case AsJSON:
		text, err = json.MarshalIndent(v, "", "  ")
		text = append(text, '\n')
	case AsYAML:
		text, err = yaml.Marshal(v)
	default:
		return false, nil
	}
	if err == nil {
		_, err = w.Write(text)
	}
	return true, err
}
