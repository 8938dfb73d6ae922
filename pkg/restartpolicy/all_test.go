package restartpolicy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// constants are the values of the constants of a type in a file of this
// directory.
func constants(t *testing.T, file, of string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != of {
			return true
		}
		for _, v := range spec.Values {
			if text, ok := v.(*ast.BasicLit); ok {
				value, err := strconv.Unquote(text.Value)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, value)
			}
		}
		return true
	})
	slices.Sort(values)
	return values
}

func sorted[T ~string](all []T) []string {
	var out []string
	for _, one := range all {
		out = append(out, string(one))
	}
	slices.Sort(out)
	return out
}

func TestNoneIsForgotten(t *testing.T) {
	if want, got := constants(t, "verdict.go", "State"), sorted(States()); !slices.Equal(want, got) || len(got) < 20 {
		t.Errorf("the table has %v, there are %v", got, want)
	}
	if want, got := constants(t, "step.go", "StepKind"), sorted(Steps[:]); !slices.Equal(want, got) || len(got) < 7 {
		t.Errorf("Steps has %v, there are %v", got, want)
	}
	for _, r := range Rows {
		if (len(r.Steps) > 0) != (len(r.Proof) > 0) {
			t.Errorf("%s: a step needs a proof, and a proof a step", r.State)
		}
	}
}
