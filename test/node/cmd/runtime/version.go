package main

import (
	"os"
	"path/filepath"
	"regexp"
)

var versionField = regexp.MustCompile(`"ociVersion":\s*"1\.[1-9][^"]*"`)

// oldVersion has a bundle claim an old version of the specification: Debian 12's
// crun refuses those that CRI-O writes, though it knows all that is in them.
func oldVersion(bundle string) error {
	file := filepath.Join(bundle, "config.json")
	config, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !versionField.Match(config) {
		return nil
	}
	return os.WriteFile(file, versionField.ReplaceAll(config, []byte(`"ociVersion":"1.0.2"`)), 0o644)
}
