// Command runtime stands where CRI-O expects an OCI runtime: it passes every
// call on to it, after it has misbehaved as the fault files say. Under the name
// crun it stands for crun, under any other for runc.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/nodekeeper/nodekeeper/test/node/fault"
)

const faultDir = "/run/box/runtime-faults"

// overlayContainers is where CRI-O keeps the bundle of each container.
const overlayContainers = "/run/containers/storage/overlay-containers"

func main() {
	call := parseCall(os.Args[1:])
	if call.verb != "" {
		misbehave(call)
	}
	name := "runc"
	if filepath.Base(os.Args[0]) == "crun" {
		name = "crun"
	}
	if call.verb == "create" {
		if err := permitScore(call.bundle); err != nil {
			fmt.Fprintln(os.Stderr, "OOM score:", err)
		}
		if name == "crun" {
			if err := oldVersion(call.bundle); err != nil {
				fmt.Fprintln(os.Stderr, "OCI version:", err)
			}
		}
	}
	path := "/usr/sbin/" + name
	if _, err := os.Stat(path); err != nil {
		path = "/usr/bin/" + name
	}
	err := syscall.Exec(path, append([]string{path}, os.Args[1:]...), os.Environ())
	fmt.Fprintln(os.Stderr, "run "+name+":", err)
	os.Exit(1)
}

func misbehave(call call) {
	// Without a fault file for the verb nothing is read and nothing waits.
	if _, err := os.Stat(filepath.Join(faultDir, call.verb)); err != nil {
		return
	}
	rule, found, err := fault.Take(faultDir, call.verb, subject(call))
	if err != nil {
		fmt.Fprintln(os.Stderr, "read fault rules:", err)
		os.Exit(1)
	}
	switch {
	case !found:
	case rule.Action == fault.Fail:
		fmt.Fprintln(os.Stderr, "injected fault:", call.verb, rule.Code)
		os.Exit(1)
	default:
		_ = fault.Wait(context.Background(), faultDir, call.verb, rule)
	}
}

// subject is all that a rule may match on.
func subject(call call) string {
	words := []string{call.container, call.bundle}
	for _, bundle := range []string{call.bundle, filepath.Join(overlayContainers, call.container, "userdata")} {
		data, err := os.ReadFile(filepath.Join(bundle, "config.json"))
		if err != nil {
			continue
		}
		var config struct {
			Annotations map[string]string `json:"annotations"`
		}
		if json.Unmarshal(data, &config) != nil {
			continue
		}
		for _, key := range []string{"io.kubernetes.container.name", "io.kubernetes.pod.name", "io.kubernetes.pod.namespace", "io.kubernetes.cri-o.Name"} {
			words = append(words, config.Annotations[key])
		}
		break
	}
	return strings.Join(words, " ")
}
