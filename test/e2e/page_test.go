package e2e

import (
	"os"
	"strings"
)

const pageEnv = "NODEKEEPER_PAGE"

// drawn fails unless the node's report names all that is given. The page is
// left in $NODEKEEPER_PAGE, where a browser looks at it after these cases.
func (s *scene) drawn(names ...string) {
	s.Helper()
	page := s.nodekeeper("report", "--since", "1h", "-o", "-")
	for _, name := range names {
		if !strings.Contains(page, name) {
			s.Errorf("the report does not have %q", name)
		}
	}
	if path := os.Getenv(pageEnv); path != "" {
		s.must(os.WriteFile(path, []byte(page), 0o644), "keep the report")
	}
}
