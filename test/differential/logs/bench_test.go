package logs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	peer "k8s.io/cri-client/pkg/logs"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/reader"
)

const benchSize = 256 << 20

// write makes a log of lines of 20 to 180 bytes, as an API server's are.
func (d dir) write(b *testing.B, size int) {
	b.Helper()
	file, err := os.Create(filepath.Join(d.path, "0.log"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	w := bufio.NewWriterSize(file, 1<<20)
	text := strings.Repeat("I1130 12:00:00.000000 trace.go:236] audit request latency ", 4)
	for n, i := 0, 0; n < size; i++ {
		at := began.Add(time.Duration(i) * time.Millisecond)
		stream := "stdout"
		if i%7 == 0 {
			stream = "stderr"
		}
		written, err := fmt.Fprintf(w, "%s %s F %s\n", at.Format(layouts[0]), stream, text[:20+i%160])
		if err != nil {
			b.Fatal(err)
		}
		n += written
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkFullRead reads a log of 256 MiB from the page cache.
func BenchmarkFullRead(b *testing.B) {
	d := newDir(b)
	d.write(b, benchSize)
	path := filepath.Join(d.path, "0.log")
	for _, timestamps := range []bool{false, true} {
		b.Run(fmt.Sprintf("timestamps=%t/ours", timestamps), func(b *testing.B) {
			b.SetBytes(benchSize)
			for b.Loop() {
				if err := reader.Write(b.Context(), io.Discard, d.files, []reader.Attempt{attempt()}, reader.Options{Timestamps: timestamps}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("timestamps=%t/cri-client", timestamps), func(b *testing.B) {
			b.SetBytes(benchSize)
			for b.Loop() {
				if err := peer.ReadLogs(b.Context(), path, "", &peer.LogOptions{Timestamp: timestamps}, nil, io.Discard, io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("timestamps=false/crictl", func(b *testing.B) {
		crictl := buildCrictl(b)
		socket := serveContainer(b, path)
		b.SetBytes(benchSize)
		for b.Loop() {
			// Its output goes to /dev/null.
			command := exec.CommandContext(b.Context(), crictl, "--runtime-endpoint", "unix://"+socket, "logs", "c")
			if err := command.Run(); err != nil {
				b.Fatalf("%v: %v", command.Args, err)
			}
		}
	})
}

// oneContainer is a runtime that knows as much as crictl logs asks for.
type oneContainer struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	logPath string
}

func (oneContainer) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: "one", RuntimeVersion: "1", RuntimeApiVersion: "v1"}, nil
}

func (c oneContainer) ContainerStatus(context.Context, *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{
		Id: "c", Metadata: &runtimeapi.ContainerMetadata{Name: "c"}, State: runtimeapi.ContainerState_CONTAINER_EXITED,
		CreatedAt: 1, StartedAt: 1, FinishedAt: 2, Image: &runtimeapi.ImageSpec{Image: "image"}, ImageRef: "image", LogPath: c.logPath,
	}}, nil
}

func serveContainer(b *testing.B, logPath string) (socket string) {
	b.Helper()
	socket = filepath.Join(b.TempDir(), "s")
	if len(socket) > 100 { // a socket's name may have 107 bytes
		b.Fatalf("%s is too long", socket)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	server := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(server, oneContainer{logPath: logPath})
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	b.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	return socket
}

// buildCrictl builds the crictl of the box, with the flags that the box uses.
func buildCrictl(b *testing.B) string {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	path := filepath.Join(b.TempDir(), "crictl")
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "sigs.k8s.io/cri-tools/cmd/crictl")
	command.Dir = "../../components/critools"
	command.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if output, err := command.CombinedOutput(); err != nil {
		b.Fatalf("build crictl: %v: %s", err, output)
	}
	return path
}
