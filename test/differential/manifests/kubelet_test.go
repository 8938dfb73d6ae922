package manifests

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/kubelet/config"
)

const (
	nodeName = "Node1"
	// version is the kubelet's that this module links.
	version = "1.37.2"
)

type noObserver struct{}

func (noObserver) ObservedPodOnWatch(klog.Logger, *corev1.Pod, time.Time) {}

// taken is what the kubelet's own file source takes up from a directory, and
// what it says of each file that it refuses.
type taken struct {
	uids    map[string]types.UID // by the pod's name
	refused map[string]string    // by the file's name
}

func takenFrom(t *testing.T, dir string) taken {
	t.Helper()
	// As cmd/kubelet/app/server.go RunKubelet does, v1.37.
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
	found := taken{uids: map[string]types.UID{}, refused: map[string]string{}}
	pods := config.NewPodConfig(record.NewBroadcaster().NewRecorder(legacyscheme.Scheme, corev1.EventSource{}), noObserver{})
	// It lists at once, and sends what it has found.
	config.NewSourceFile(klog.New(journal{found.refused}), dir, types.NodeName(strings.ToLower(nodeName)), time.Hour, pods.Channel(t.Context(), "file"))
	select {
	case update := <-pods.Updates():
		for _, pod := range update.Pods {
			found.uids[pod.Namespace+"/"+pod.Name] = pod.UID
		}
	case <-time.After(time.Minute):
		t.Fatal("the kubelet's file source sends nothing")
	}
	return found
}

// journal keeps the errors that are about a file.
type journal struct{ refused map[string]string }

func (journal) Init(klog.RuntimeInfo)            {}
func (journal) Enabled(int) bool                 { return false }
func (journal) Info(int, string, ...any)         {}
func (j journal) WithValues(...any) klog.LogSink { return j }
func (j journal) WithName(string) klog.LogSink   { return j }
func (j journal) Error(err error, _ string, keysAndValues ...any) {
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		if keysAndValues[i] == "path" {
			j.refused[filepath.Base(fmt.Sprint(keysAndValues[i+1]))] = fmt.Sprint(err)
		}
	}
}
