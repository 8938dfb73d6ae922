package nodepackage

import "testing"

func TestAVersionOfGitBecomesOneOfPackages(t *testing.T) {
	for text, want := range map[string]version{
		"v1.2.3":                   {number: "1.2.3"},
		"1.2.3":                    {number: "1.2.3"},
		"v1.2.3-rc.1":              {number: "1.2.3", before: "rc.1"},
		"v1.2.3-beta-2":            {number: "1.2.3", before: "beta.2"},
		"v1.2.3-4-gabcdef0":        {number: "1.2.3", after: "4.gabcdef0"},
		"v1.2.3-4-gabcdef0-dirty":  {number: "1.2.3", after: "4.gabcdef0.dirty"},
		"v1.2.3-dirty":             {number: "1.2.3", after: "dirty"},
		"v1.2.3-rc.1-4-gabcdef0":   {number: "1.2.3", before: "rc.1.4.gabcdef0"},
		"abcdef0-dirty":            {number: "0.0.0", after: "abcdef0.dirty"},
		"unknown":                  {number: "0.0.0", after: "unknown"},
		"old; rm -rf / $(unknown)": {number: "0.0.0", after: "old.rm.rf.unknown"},
	} {
		if got := parse(text); got != want {
			t.Errorf("%s: %+v instead of %+v", text, got, want)
		}
	}
}
