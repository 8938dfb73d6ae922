package ending

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/record"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Exit codes that are no exit codes: cri-o internal/oci/runtime_oci.go,
// updateContainerStatus, and container.go, ContainerState, v1.37.
const (
	// unset is CRI-O's for a record that has no code.
	unset = -1
	// substitute is CRI-O's where no exit file appeared. Programs use it too.
	substitute = 255
)

// ParseExit reads conmon's exit file: a decimal number, and maybe space around
// it (conmon src/conmon.c, v2.2).
func ParseExit(data []byte) (int32, error) {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(data)), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("exit file: %w", err)
	}
	return int32(n), nil
}

// code is the exit code and who knew it; nil if nobody does. The reason is set
// where there is a number that is not believed.
func (f Facts) code() (code *int32, from record.Source, reason string) {
	if f.Exit != nil && *f.Exit != unset {
		n := *f.Exit
		return &n, record.SourceExitFile, ""
	}
	r := f.Record
	switch {
	case r == nil || r.State != node.ContainerExited || r.StatusUnknown:
		return nil, record.SourceInferred, ""
	case r.ExitCode == unset:
		return nil, record.SourceInferred, "the runtime does not know its exit code"
	case f.ProcessLost:
		return nil, record.SourceInferred, fmt.Sprintf("exit code %d is the runtime's substitute", r.ExitCode)
	case r.ExitCode == substitute && (f.NoExit || f.OtherBoot):
		return nil, record.SourceInferred, "exit code 255 is the runtime's substitute: there is no exit file"
	}
	n := r.ExitCode
	return &n, record.SourceCRI, ""
}

// signal is the number of the signal that an exit code stands for, else 0.
func signal(code *int32) int {
	if code == nil || *code <= 128 || *code > 128+64 {
		return 0
	}
	return int(*code) - 128
}
