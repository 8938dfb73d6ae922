package control

import (
	"net"
	"net/rpc"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// talk is a client of a Guest over a pipe instead of a serial port.
func talk(t *testing.T) *rpc.Client {
	t.Helper()
	server := rpc.NewServer()
	if err := server.RegisterName(Service, Guest{}); err != nil {
		t.Fatal(err)
	}
	inside, outside := net.Pipe()
	go server.ServeConn(inside)
	client := rpc.NewClient(outside)
	t.Cleanup(func() { client.Close() })
	return client
}

func TestRun(t *testing.T) {
	client := talk(t)
	for name, test := range map[string]struct {
		command Command
		want    Result
		err     string
	}{
		"both outputs and the code": {
			command: Command{Args: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}, Timeout: time.Minute},
			want:    Result{Stdout: "out\n", Stderr: "err\n", Code: 3},
		},
		"ended by a signal": {
			command: Command{Args: []string{"sh", "-c", "kill -KILL $$"}, Timeout: time.Minute},
			want:    Result{Code: -1},
		},
		"no such program": {
			command: Command{Args: []string{"/nonexistent"}, Timeout: time.Minute},
			err:     "no such file",
		},
		"does not end": {
			command: Command{Args: []string{"sleep", "60"}, Timeout: 50 * time.Millisecond},
			err:     "no end within 50ms",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got Result
			err := client.Call(Service+".Run", test.command, &got)
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Fatalf("error %v, want %q", err, test.err)
			}
			if err == nil && got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestWriteMakesFoldersAndLeavesNothingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "file")
	if err := talk(t).Call(Service+".Write", File{Path: path, Content: []byte("text"), Mode: 0o600}, &struct{}{}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil || string(content) != "text" {
		t.Errorf("%q, %v", content, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}
