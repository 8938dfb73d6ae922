package main

import "strings"

// call is one command line of an OCI runtime.
type call struct {
	verb      string
	bundle    string
	container string
}

// withValue are runc's options that take their value from the next word.
var withValue = map[string]bool{
	"--root": true, "--log": true, "--log-format": true, "--criu": true, "--rootless": true,
	"--bundle": true, "-b": true, "--console-socket": true, "--pid-file": true, "--preserve-fds": true,
	"--process": true, "-p": true, "--resources": true, "-r": true, "--format": true, "-f": true,
}

// parseCall finds the verb, the bundle and the container. Of "kill ID SIGNAL"
// and "exec ID ..." the first word after the verb is the container.
func parseCall(args []string) call {
	var found call
	for i := 0; i < len(args); i++ {
		word := args[i]
		if strings.HasPrefix(word, "-") {
			name, value, joined := strings.Cut(word, "=")
			if !joined && withValue[name] && i+1 < len(args) {
				i++
				value = args[i]
			}
			if name == "--bundle" || name == "-b" {
				found.bundle = value
			}
			continue
		}
		if found.verb == "" {
			found.verb = word
		} else if found.container == "" {
			found.container = word
		}
	}
	return found
}
