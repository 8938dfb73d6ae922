package guard

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/apilog"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/expect"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

// expected is what pkg/immutable/audit makes of the live pods and objects.
func (c *cluster) expected(t *testing.T, families []string) expect.Counts {
	t.Helper()
	list, err := c.admin.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + nodeName})
	if err != nil {
		t.Fatal(err)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	look := func(key shape.Key) expect.Object {
		var immutable *bool
		var err error
		if key.Resource == shape.Secrets {
			var s *corev1.Secret
			if s, err = c.admin.CoreV1().Secrets(key.Namespace).Get(context.Background(), key.Name, metav1.GetOptions{}); err == nil {
				immutable = s.Immutable
			}
		} else {
			var m *corev1.ConfigMap
			if m, err = c.admin.CoreV1().ConfigMaps(key.Namespace).Get(context.Background(), key.Name, metav1.GetOptions{}); err == nil {
				immutable = m.Immutable
			}
		}
		switch {
		case err != nil:
			return expect.Object{State: expect.Missing}
		case immutable != nil && *immutable:
			return expect.Object{State: expect.Immutable}
		}
		return expect.Object{State: expect.Mutable}
	}
	return expect.Count(pods, look, families)
}

// logged is what the audit's reader counts in the log after a mark.
func (c *cluster) logged(t *testing.T, m mark) apilog.Report {
	t.Helper()
	f, err := os.Open(c.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Seek(m.offset, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	l := apilog.New(nodeName)
	if err := l.Read(f); err != nil {
		t.Fatal(err)
	}
	return l.Report()
}

// TestWhatTheAuditExpectsIsCounted holds what nodekeeper audit foretells of a node,
// and what its reader finds in the audit log, against what the API server counted.
func TestWhatTheAuditExpectsIsCounted(t *testing.T) {
	families := []string{"kube-root-ca.crt", "openshift-service-ca.crt"}
	c := startCluster(t)
	w := c.create(t, load{namespaces: 5, pods: 20, immutable: 100, mutable: 20, families: families})
	want := c.expected(t, families)
	settings := config.Default().Proxy
	settings.Grace.Duration = time.Second
	// The grace, and the rate of the bucket for all that is mutable.
	const settle = 4 * time.Second
	check := func(name string, m measured, k expect.Kubelet, r expect.Remedy, log apilog.Report) {
		t.Helper()
		l := want.Under(r, k)
		t.Logf("%-17s %v, %d open; expected %+v", name, m.start, m.open, l)
		if m.start.watches != l.StartWatches || m.start.lists != l.StartLists || m.open != l.Open {
			t.Errorf("%s: the API server counted something else", name)
		}
		if m.start.etcdReads > l.StartReads+5 {
			t.Errorf("%s: %d reads of etcd", name, m.start.etcdReads)
		}
		if int(log.Watch) != m.start.watches+m.restart.watches || int(log.List) != m.start.lists+m.restart.lists {
			t.Errorf("%s: the audit reads %+v out of the log, counted were %v and %v", name, log.Counts, m.start, m.restart)
		}
	}
	for _, path := range []struct {
		watchList bool
		version   string
	}{{true, "v1.37.2"}, {false, "v1.34.1"}} {
		if !path.watchList && testing.Short() {
			break
		}
		featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, watchList, path.watchList)
		k := expect.Kubelet{Version: path.version, Strategy: expect.Watch}
		before := c.mark(t)
		m := c.measureDirect(t, w, byWatch, settle)
		check("direct "+path.version, m, k, expect.AsIs, c.logged(t, before))
		before = c.mark(t)
		m = c.measureGuarded(t, w, settings, settle)
		check("guarded "+path.version, m, k, expect.Guard, c.logged(t, before))
		with := settings
		with.Sentinels = families
		before = c.mark(t)
		m = c.measureGuarded(t, w, with, settle)
		check("sentinels "+path.version, m, k, expect.Sentinels, c.logged(t, before))
	}
}
