package components

import "testing"

func TestParseSourceLines(t *testing.T) {
	for line, want := range map[string]source{
		"deb http://mirror.test/debian bookworm main contrib":                                 {mirror: "http://mirror.test/debian"},
		"deb [arch=amd64 signed-by=/keys/a.gpg] http://mirror.test/debian bookworm main":      {mirror: "http://mirror.test/debian", keyring: "/keys/a.gpg"},
		"# deb http://off.test/debian bookworm main\ndeb http://on.test/debian bookworm main": {mirror: "http://on.test/debian"},
		"deb-src http://mirror.test/debian bookworm main":                                     {},
		"deb http://other.test/tool bookworm tool":                                            {},
		"deb http://mirror.test/debian bookworm-updates main":                                 {},
	} {
		if got, found := parseSourceLines(line, "bookworm"); got != want || found != (want != source{}) {
			t.Errorf("%q: %+v, %v", line, got, found)
		}
	}
}

func TestParseSourceStanzas(t *testing.T) {
	text := `Types: deb
# a note
URIs: http://security.test/debian
Suites: bookworm-security
Components: main

Types: deb
URIs: http://mirror.test/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /keys/debian.gpg
`
	want := source{mirror: "http://mirror.test/debian", keyring: "/keys/debian.gpg"}
	if got, found := parseSourceStanzas(text, "bookworm"); !found || got != want {
		t.Errorf("%+v, %v", got, found)
	}
	if got, found := parseSourceStanzas(text, "trixie"); found {
		t.Errorf("found %+v for another suite", got)
	}
}
