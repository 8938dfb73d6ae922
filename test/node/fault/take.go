package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// heldFolder has one file for each call that hangs right now.
const heldFolder = "held"

// Take looks into dir whether the call name about subject is to misbehave,
// and uses up one count of the rule found. Safe between processes.
func Take(dir, name, subject string) (Rule, bool, error) {
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return Rule{}, false, nil
	}
	unlock, err := lock(dir)
	if err != nil {
		return Rule{}, false, err
	}
	defer unlock()
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Rule{}, false, nil
	}
	if err != nil {
		return Rule{}, false, err
	}
	rules, err := Parse(string(text))
	if err != nil {
		return Rule{}, false, fmt.Errorf("%s: %w", path, err)
	}
	rule, left, found := use(rules, subject)
	if !found {
		return Rule{}, false, nil
	}
	if len(left) == 0 {
		return rule, true, os.Remove(path)
	}
	return rule, true, os.WriteFile(path, []byte(Format(left)), 0o600)
}

// Wait holds the caller as the rule says: for its delay, or until its mark in
// the folder "held" is removed. It returns the context's error if that ends
// first.
func Wait(ctx context.Context, dir, name string, rule Rule) error {
	if rule.Action == Delay {
		timer := time.NewTimer(rule.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	held := filepath.Join(dir, heldFolder)
	if err := os.MkdirAll(held, 0o700); err != nil {
		return err
	}
	mark, err := os.CreateTemp(held, name+"-"+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return err
	}
	mark.Close()
	defer os.Remove(mark.Name())
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, err := os.Stat(mark.Name()); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Held lists the calls that hang, by name.
func Held(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, heldFolder))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry.Name(), "-")
		names = append(names, name)
	}
	return names, err
}

// Release lets all calls go on that hang.
func Release(dir string) error { return os.RemoveAll(filepath.Join(dir, heldFolder)) }
