package promote

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote/controller"
	"github.com/nodekeeper/nodekeeper/test/controlplane"
)

var settings = map[string]string{"k": "v"}

// TestPromotion shares one API server.
func TestPromotion(t *testing.T) {
	c := startCluster(t)
	for name, test := range map[string]func(*testing.T, *cluster){
		"each rule on live objects":  eachRule,
		"a dry run marks nothing":    dryRun,
		"races":                      races,
		"opt-out":                    optOut,
		"restarts":                   restarts,
		"two promoters":              twoPromoters,
		"only the namespaces chosen": chosenNamespaces,
		"pages":                      manyObjects,
	} {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
}

// case of a live object that would be promoted but for one thing.
type live struct {
	name string
	rule promote.Rule // of the never-list, or empty: not even listed
	kind corev1.SecretType
	meta func(*metav1.ObjectMeta)
}

func eachRule(t *testing.T, c *cluster) {
	s := c.scene(t, "rules", true)
	annotate := func(key, value string) func(*metav1.ObjectMeta) {
		return func(m *metav1.ObjectMeta) { m.Annotations = map[string]string{key: value} }
	}
	label := func(key, value string) func(*metav1.ObjectMeta) {
		return func(m *metav1.ObjectMeta) { m.Labels = map[string]string{key: value} }
	}
	own := func(apiVersion, kind string, controller bool) func(*metav1.ObjectMeta) {
		return func(m *metav1.ObjectMeta) {
			m.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "x", UID: "u", Controller: &controller}}
		}
	}
	data := map[string][]byte{"k": []byte("v")}
	secrets := []live{
		{"good", "promoted", corev1.SecretTypeOpaque, nil},
		{"token", "", corev1.SecretTypeServiceAccountToken, annotate(corev1.ServiceAccountNameKey, "default")},
		{"dockercfg", "", corev1.SecretTypeDockercfg, nil},
		{"tls", "", corev1.SecretTypeTLS, nil},
		{"bootstrap", "", "bootstrap.kubernetes.io/token", nil},
		{"release", "", "helm.sh/release.v1", nil},
		{"pull-annotated", promote.RuleAccountPull, corev1.SecretTypeDockerConfigJson, annotate(corev1.ServiceAccountNameKey, "default")},
		{"pull-listed", promote.RuleAccountPull, corev1.SecretTypeDockerConfigJson, nil},
		{"pull-free", "promoted", corev1.SecretTypeDockerConfigJson, nil},
		{"bootstrap-token-a", promote.RuleBootstrapToken, corev1.SecretTypeOpaque, nil},
		{"sh.helm.release.v1.a.v1", promote.RuleHelmRelease, corev1.SecretTypeOpaque, nil},
		{"odd", promote.RuleType, "example.org/odd", nil},
		{"cert", promote.RuleCertManager, corev1.SecretTypeOpaque, annotate("cert-manager.io/certificate-name", "x")},
		{"service", promote.RuleServiceCA, corev1.SecretTypeOpaque, annotate("service.beta.openshift.io/expiry", "x")},
		{"external", promote.RuleSynced, corev1.SecretTypeOpaque, own("external-secrets.io/v1", "ExternalSecret", true)},
		{"sealed", promote.RuleSynced, corev1.SecretTypeOpaque, own("bitnami.com/v1alpha1", "SealedSecret", true)},
		{"vault", promote.RuleSynced, corev1.SecretTypeOpaque, own("secrets.hashicorp.com/v1beta1", "VaultStaticSecret", false)},
		{"reflected", promote.RuleSynced, corev1.SecretTypeOpaque, annotate("reflector.v1.k8s.emberstack.com/reflects", "a/b")},
		{"replicated", promote.RuleSynced, corev1.SecretTypeOpaque, annotate("replicator.v1.mittwald.de/replicate-from", "a/b")},
	}
	configMaps := []live{
		{"good", "promoted", "", nil},
		{"allowed-owner", "promoted", "", own("prow.k8s.io/v1", "ProwJob", true)},
		{"kube-root-ca.crt", promote.RulePublished, "", nil},
		{"openshift-service-ca.crt", promote.RulePublished, "", nil},
		{"op-leader-election", promote.RuleLeaderElection, "", nil},
		{"elected", promote.RuleLeaderElection, "", annotate("control-plane.alpha.kubernetes.io/leader", "{}")},
		{"injected", promote.RuleCAInjection, "", label("config.openshift.io/inject-trusted-cabundle", "true")},
		{"owned", promote.RuleController, "", own("apps/v1", "ReplicaSet", true)},
		{"replaced", promote.RuleReplaced, "", annotate("argocd.argoproj.io/sync-options", "Replace=true")},
		{"reloaded", promote.RuleReloader, "", annotate("reloader.stakater.com/match", "true")},
		{"reloaded-pod", promote.RuleReloader, "", nil},
		{"checksummed-pod", promote.RuleDeployed, "", nil},
		{"helm", promote.RuleDeployed, "", label("app.kubernetes.io/managed-by", "Helm")},
		{"never", promote.RuleOptOut, "", label(promote.PolicyKey, promote.PolicyNever)},
		{"two-writers", promote.RuleWriters, "", nil},
		{"by-controller", promote.RuleWriter, "", nil},
		{"unused", promote.RuleUnused, "", nil},
	}
	var secretNames, mapNames []string
	for _, l := range secrets {
		meta := metav1.ObjectMeta{Name: l.name}
		if l.meta != nil {
			l.meta(&meta)
		}
		content := maps.Clone(data)
		switch l.kind {
		case corev1.SecretTypeDockercfg:
			content = map[string][]byte{".dockercfg": []byte("{}")}
		case corev1.SecretTypeDockerConfigJson:
			content = map[string][]byte{".dockerconfigjson": []byte("{}")}
		case corev1.SecretTypeTLS:
			content = map[string][]byte{"tls.crt": {}, "tls.key": {}}
		}
		s.secret(meta, l.kind, content)
		secretNames = append(secretNames, l.name)
	}
	for _, l := range configMaps {
		meta := metav1.ObjectMeta{Name: l.name}
		if l.meta != nil {
			l.meta(&meta)
		}
		manager := "tester"
		if l.name == "by-controller" {
			manager = "kube-controller-manager"
		}
		_, err := c.Admin.CoreV1().ConfigMaps(s.namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta, Data: settings}, metav1.CreateOptions{FieldManager: manager})
		s.must(err)
		if !slices.Contains([]string{"unused", "reloaded-pod", "checksummed-pod"}, l.name) {
			mapNames = append(mapNames, l.name)
		}
	}
	_, err := c.Admin.CoreV1().ConfigMaps(s.namespace).Patch(t.Context(), "two-writers", types.MergePatchType, []byte(`{"data":{"more":"data"}}`), metav1.PatchOptions{FieldManager: "another"})
	s.must(err)
	_, err = c.Admin.CoreV1().ServiceAccounts(s.namespace).Create(t.Context(), &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: "builder"}, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull-listed"}},
	}, metav1.CreateOptions{})
	s.must(err)
	s.pod("uses-all", nil, secretNames, mapNames)
	s.pod("reloaded", map[string]string{"configmap.reloader.stakater.com/reload": "reloaded-pod"}, nil, []string{"reloaded-pod"})
	s.pod("checksummed", map[string]string{"checksum/config": "abc"}, nil, []string{"checksummed-pod"})

	counts := s.pass(s.promoter(func(o *controller.Options) { o.Owners = []string{"ProwJob.prow.k8s.io"} }))
	if counts.Promoted != 4 || counts.Failed != 0 || counts.Raced != 0 {
		t.Errorf("%+v", counts)
	}
	immutable := s.immutable()
	check := func(resource string, l live) {
		object := resource + "/" + l.name
		if want := l.rule == "promoted"; immutable[object] != want {
			t.Errorf("%s immutable: %v, want %v (refused by %q)", object, immutable[object], want, s.refused.of(object))
		}
		if got := s.refused.of(object); l.rule != "promoted" && got != string(l.rule) {
			t.Errorf("%s refused by %q, want %q", object, got, l.rule)
		}
	}
	for _, l := range secrets {
		check("secrets", l)
	}
	for _, l := range configMaps {
		check("configmaps", l)
	}
	good := s.configMapNow("good")
	if reason := good.Annotations[promote.ReasonKey]; !strings.Contains(reason, promote.PolicyKey) {
		t.Errorf("reason: %q", reason)
	}
	if events := s.events(controller.EventPromoted); len(events) != 4 {
		t.Errorf("%d events", len(events))
	}
	good.Data = map[string]string{"k": "other"}
	if _, err := c.Admin.CoreV1().ConfigMaps(s.namespace).Update(t.Context(), good, metav1.UpdateOptions{}); err == nil {
		t.Error("the promoted object could be changed")
	}
}

func dryRun(t *testing.T, c *cluster) {
	s := c.scene(t, "dry", true)
	before := s.configMap(metav1.ObjectMeta{Name: "a"}, settings)
	s.pod("p", nil, nil, []string{"a"})
	p := s.promoter(func(o *controller.Options) { o.DryRun = true })
	s.pass(p)
	counts := s.pass(p)
	if counts.WouldPromote != 2 || counts.Promoted != 0 {
		t.Errorf("%+v", counts)
	}
	if after := s.configMapNow("a"); after.ResourceVersion != before.ResourceVersion {
		t.Error("a dry run has written the object")
	}
	if events := s.events(controller.EventWouldPromote); len(events) != 1 || events[0].InvolvedObject.UID != before.UID || !strings.HasPrefix(events[0].Message, "would be made immutable: ") {
		t.Errorf("events: %+v", events)
	}
}

func races(t *testing.T, c *cluster) {
	s := c.scene(t, "races", true)
	for _, name := range []string{"changed", "gone", "recreated", "quiet"} {
		s.configMap(metav1.ObjectMeta{Name: name}, settings)
	}
	s.pod("p", nil, nil, []string{"changed", "gone", "recreated", "quiet"})
	client := c.Admin.CoreV1().ConfigMaps(s.namespace)
	p := s.promoter(func(o *controller.Options) {
		o.Judged = func(o promote.Object, _ promote.Verdict) {
			switch o.Meta.Name {
			case "changed":
				_, err := client.Patch(t.Context(), "changed", types.MergePatchType, []byte(`{"data":{"k":"late"}}`), metav1.PatchOptions{FieldManager: "tester"})
				s.must(err)
			case "gone":
				s.must(client.Delete(t.Context(), "gone", metav1.DeleteOptions{}))
			case "recreated":
				s.must(client.Delete(t.Context(), "recreated", metav1.DeleteOptions{}))
				s.configMap(metav1.ObjectMeta{Name: "recreated"}, map[string]string{"k": "new"})
			}
		}
	})
	counts := s.pass(p)
	if counts.Raced != 3 || counts.Promoted != 1 || counts.Failed != 0 {
		t.Errorf("%+v", counts)
	}
	if immutable := s.immutable(); len(immutable) != 1 || !immutable["configmaps/quiet"] {
		t.Errorf("immutable: %v", immutable)
	}
}

func optOut(t *testing.T, c *cluster) {
	s := c.scene(t, "opt-out", true)
	s.configMap(metav1.ObjectMeta{Name: "a"}, settings)
	s.pod("p", nil, nil, []string{"a"})
	p := s.promoter(func(o *controller.Options) { o.MinAge = time.Hour })
	s.pass(p)
	s.now = s.now.Add(2 * time.Hour)
	label := func(value string) {
		_, err := c.Admin.CoreV1().Namespaces().Patch(t.Context(), s.namespace, types.MergePatchType, []byte(`{"metadata":{"labels":{"`+promote.PolicyKey+`":"`+value+`"}}}`), metav1.PatchOptions{})
		s.must(err)
	}
	label(promote.PolicyNever)
	if counts := s.pass(p); counts.Promoted != 0 || counts.Refused[promote.RuleOptOut] != 1 {
		t.Errorf("opted out: %+v", counts)
	}
	label(promote.PolicyPromote)
	s.pass(p)
	// Between the look and the patch.
	hasty := s.promoter(func(o *controller.Options) {
		o.Judged = func(promote.Object, promote.Verdict) { label(promote.PolicyNever) }
	})
	if counts := s.pass(hasty); counts.Promoted != 0 || counts.Refused[promote.RuleOptOut] != 1 {
		t.Errorf("opted out at the last moment: %+v", counts)
	}
	label(promote.PolicyPromote)
	s.pass(p)
	s.now = s.now.Add(2 * time.Hour)
	if counts := s.pass(p); counts.Promoted != 1 {
		t.Errorf("opted in again: %+v", counts)
	}
}

func restarts(t *testing.T, c *cluster) {
	const day = 24 * time.Hour
	s := c.scene(t, "restarts", true)
	for _, name := range []string{"quiet", "labelled", "edited"} {
		s.configMap(metav1.ObjectMeta{Name: name}, settings)
	}
	s.pod("p", nil, nil, []string{"quiet", "labelled", "edited"})
	week := func(o *controller.Options) { o.MinAge = 7 * day }
	if counts := s.pass(s.promoter(week)); counts.Read != 3 || counts.Promoted != 0 || counts.Refused[promote.RuleAge] != 3 {
		t.Errorf("first look: %+v", counts)
	}
	s.now = s.now.Add(6 * day)
	client := c.Admin.CoreV1().ConfigMaps(s.namespace)
	for name, patch := range map[string]string{"edited": `{"data":{"k":"w"}}`, "labelled": `{"metadata":{"labels":{"new":"label"}}}`} {
		_, err := client.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "tester"})
		s.must(err)
	}
	if counts := s.pass(s.promoter(week)); counts.Read != 2 || counts.Promoted != 0 {
		t.Errorf("after a restart only what has changed is read: %+v", counts)
	}
	s.now = s.now.Add(2 * day)
	if counts := s.pass(s.promoter(week)); counts.Promoted != 2 {
		t.Errorf("after a week: %+v", counts)
	}
	if immutable := s.immutable(); immutable["configmaps/edited"] || len(immutable) != 2 {
		t.Errorf("immutable: %v", immutable)
	}
	// What is done is not read again, whoever looks.
	if counts := s.pass(s.promoter(week)); counts.Read != 0 || counts.Refused[promote.RuleImmutable] != 2 {
		t.Errorf("afterwards: %+v", counts)
	}
	s.must(client.Delete(t.Context(), "edited", metav1.DeleteOptions{}))
	s.configMap(metav1.ObjectMeta{Name: "edited"}, map[string]string{"k": "w"})
	s.now = s.now.Add(6 * day)
	if counts := s.pass(s.promoter(week)); counts.Promoted != 0 {
		t.Errorf("a new object under an old name begins anew: %+v", counts)
	}
	// A history that cannot be read makes everything wait, and nothing fail.
	stored, err := c.Admin.CoreV1().Secrets(s.own).List(t.Context(), metav1.ListOptions{})
	s.must(err)
	for i := range stored.Items {
		stored.Items[i].Data["records"] = []byte("{")
		_, err := c.Admin.CoreV1().Secrets(s.own).Update(t.Context(), &stored.Items[i], metav1.UpdateOptions{})
		s.must(err)
	}
	s.now = s.now.Add(30 * day)
	if counts := s.pass(s.promoter(week)); counts.Promoted != 0 || counts.Failed != 0 {
		t.Errorf("with a spoilt history: %+v", counts)
	}
}

func twoPromoters(t *testing.T, c *cluster) {
	s := c.scene(t, "two", true)
	type running struct {
		*controller.Controller
		stop  context.CancelFunc
		ended chan error
	}
	start := func(identity string) running {
		ctx, stop := context.WithCancel(t.Context())
		p := s.promoter(func(o *controller.Options) { o.Identity = identity })
		r := running{p, stop, make(chan error, 1)}
		go func() { r.ended <- p.Run(ctx) }()
		t.Cleanup(stop)
		return r
	}
	one := start("one")
	controlplane.Until(t, 20*time.Second, "the first to lead", func() bool { return one.Counts().Passes > 0 })
	two := start("two")
	s.configMap(metav1.ObjectMeta{Name: "a"}, settings)
	s.pod("p", nil, nil, []string{"a"})
	controlplane.Until(t, 20*time.Second, "the first to promote", func() bool { return one.Counts().Promoted == 1 })
	if n := two.Counts().Passes; n != 0 {
		t.Errorf("the second made %d passes beside the first", n)
	}
	one.stop()
	if err := <-one.ended; err != nil {
		t.Errorf("the first: %v", err)
	}
	passes := one.Counts().Passes
	controlplane.Until(t, 20*time.Second, "the second to lead", func() bool { return two.Counts().Passes > 0 })
	// Somebody takes the lease away.
	leases := c.Admin.CoordinationV1().Leases(s.own)
	controlplane.Until(t, 20*time.Second, "the lease to change hands", func() bool {
		_, err := leases.Patch(t.Context(), "nodekeeper-promote", types.MergePatchType, []byte(`{"spec":{"holderIdentity":"three","leaseDurationSeconds":3600,"renewTime":"`+time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")+`"}}`), metav1.PatchOptions{})
		return err == nil
	})
	if err := <-two.ended; err == nil || !strings.Contains(err.Error(), "lease") {
		t.Errorf("the second lost its lease and said %v", err)
	}
	if one.Counts().Passes != passes {
		t.Error("the first went on after its end")
	}
}

func chosenNamespaces(t *testing.T, c *cluster) {
	chosen, other := c.scene(t, "chosen", true), c.scene(t, "other", true)
	for _, s := range []*scene{chosen, other} {
		s.configMap(metav1.ObjectMeta{Name: "a"}, settings)
		s.pod("p", nil, nil, []string{"a"})
	}
	chosen.pass(chosen.promoter(nil))
	if len(chosen.immutable()) != 1 || len(other.immutable()) != 0 {
		t.Errorf("chosen %v, other %v", chosen.immutable(), other.immutable())
	}
	// Everywhere: as many objects as there are, and no namespace of the cluster's.
	counts := other.pass(other.promoter(func(o *controller.Options) { o.Namespaces, o.DryRun = nil, true }))
	if counts.Refused[promote.RuleNamespace] == 0 || counts.WouldPromote == 0 {
		t.Errorf("%+v", counts)
	}
}

func manyObjects(t *testing.T, c *cluster) {
	s := c.scene(t, "many", false)
	for i := range 501 {
		s.configMap(metav1.ObjectMeta{GenerateName: "a-", Annotations: map[string]string{"n": time.Duration(i).String()}}, settings)
	}
	if counts := s.pass(s.promoter(nil)); counts.Seen != 501 || counts.Read != 0 || counts.Refused[promote.RuleNoOptIn] != 501 {
		t.Errorf("%+v", counts)
	}
}
