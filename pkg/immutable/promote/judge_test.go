package promote

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func policy() Policy {
	return Policy{Now: now, MinAge: 7 * 24 * time.Hour, Namespace: "nodekeeper-promote", Owners: []string{"ProwJob.prow.k8s.io"}}
}

// promotable is opted in by its namespace, and nothing speaks against it.
func promotable(resource Resource) Object {
	o := Object{
		Resource: resource,
		Meta: metav1.ObjectMeta{
			Name: "settings", Namespace: "ci-op-1", UID: "u1", Labels: map[string]string{}, Annotations: map[string]string{},
			ManagedFields: []metav1.ManagedFieldsEntry{written("ci-operator")},
		},
		Namespace:      metav1.ObjectMeta{Name: "ci-op-1", Labels: map[string]string{PolicyKey: PolicyPromote}, Annotations: map[string]string{}},
		Content:        &Content{Text: map[string]string{"k": "v"}},
		UnchangedSince: now.Add(-8 * 24 * time.Hour),
		Use:            &Use{Pods: 1},
	}
	if resource == Secrets {
		o.Content = &Content{Type: corev1.SecretTypeOpaque, Binary: map[string][]byte{"k": []byte("v")}}
	}
	return o
}

func written(manager string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:data":{".":{},"f:k":{}}}`)}
}

// spoilt is one thing that speaks against an object, and the rule that must see it.
type spoilt struct {
	name     string
	rule     Rule
	resource Resource
	spoil    func(*Object)
}

func secretType(t corev1.SecretType) func(*Object) { return func(o *Object) { o.Content.Type = t } }
func annotated(key, value string) func(*Object) {
	return func(o *Object) { o.Meta.Annotations[key] = value }
}
func labelled(key, value string) func(*Object) {
	return func(o *Object) { o.Meta.Labels[key] = value }
}
func named(name string) func(*Object) { return func(o *Object) { o.Meta.Name = name } }
func within(ns string) func(*Object) {
	return func(o *Object) { o.Meta.Namespace, o.Namespace.Name = ns, ns }
}
func writtenBy(m string) func(*Object) {
	return func(o *Object) { o.Meta.ManagedFields = []metav1.ManagedFieldsEntry{written(m)} }
}
func owned(apiVersion, kind string, controller bool) func(*Object) {
	return func(o *Object) {
		o.Meta.OwnerReferences = append(o.Meta.OwnerReferences, metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "x", Controller: &controller})
	}
}

// against is what always wins: the never-list and the opt-outs.
var against = []spoilt{
	{"openshift namespace", RuleNamespace, ConfigMaps, within("openshift-monitoring")},
	{"the namespace openshift", RuleNamespace, ConfigMaps, within("openshift")},
	{"kube namespace", RuleNamespace, Secrets, within("kube-system")},
	{"own namespace", RuleNamespace, Secrets, within("nodekeeper-promote")},
	{"root CA", RulePublished, ConfigMaps, named("kube-root-ca.crt")},
	{"service CA bundle", RulePublished, ConfigMaps, named("openshift-service-ca.crt")},
	{"mesh CA", RulePublished, ConfigMaps, named("istio-ca-root-cert")},
	{"token", RuleAccountToken, Secrets, secretType("kubernetes.io/service-account-token")},
	{"dockercfg", RuleAccountPull, Secrets, secretType("kubernetes.io/dockercfg")},
	{"dockerconfigjson of an account", RuleAccountPull, Secrets, func(o *Object) {
		o.Content.Type = "kubernetes.io/dockerconfigjson"
		o.Meta.Annotations["kubernetes.io/service-account.name"] = "default"
	}},
	{"registry token", RuleAccountPull, Secrets, annotated("openshift.io/internal-registry-auth-token.service-account", "builder")},
	{"listed by an account", RuleAccountPull, Secrets, func(o *Object) {
		o.Content.Type = "kubernetes.io/dockerconfigjson"
		o.Use.PullSecretOf = "default"
	}},
	{"tls", RuleTLS, Secrets, secretType("kubernetes.io/tls")},
	{"bootstrap token", RuleBootstrapToken, Secrets, secretType("bootstrap.kubernetes.io/token")},
	{"bootstrap token's name", RuleBootstrapToken, Secrets, named("bootstrap-token-abcdef")},
	{"helm release", RuleHelmRelease, Secrets, secretType("helm.sh/release.v1")},
	{"helm release in a ConfigMap", RuleHelmRelease, ConfigMaps, named("sh.helm.release.v1.app.v3")},
	{"an operator's type", RuleType, Secrets, secretType("istio.io/key-and-cert")},
	{"election lock", RuleLeaderElection, ConfigMaps, annotated("control-plane.alpha.kubernetes.io/leader", "{}")},
	{"election lock's name", RuleLeaderElection, ConfigMaps, named("my-operator-leader-election")},
	{"ingress lock", RuleLeaderElection, ConfigMaps, named("ingress-controller-leader")},
	{"trusted CA bundle", RuleCAInjection, ConfigMaps, labelled("config.openshift.io/inject-trusted-cabundle", "true")},
	{"CA bundle of another domain", RuleCAInjection, ConfigMaps, annotated("example.org/inject-cabundle", "true")},
	{"cert-manager annotation", RuleCertManager, Secrets, annotated("cert-manager.io/certificate-name", "web")},
	{"cert-manager label", RuleCertManager, Secrets, labelled("controller.cert-manager.io/fao", "true")},
	{"trust-manager owner", RuleCertManager, ConfigMaps, owned("trust.cert-manager.io/v1alpha1", "Bundle", false)},
	{"service CA secret", RuleServiceCA, Secrets, annotated("service.beta.openshift.io/originating-service-name", "web")},
	{"external-secrets", RuleSynced, Secrets, owned("external-secrets.io/v1", "ExternalSecret", false)},
	{"sealed-secrets", RuleSynced, Secrets, owned("bitnami.com/v1alpha1", "SealedSecret", false)},
	{"reflector", RuleSynced, ConfigMaps, annotated("reflector.v1.k8s.emberstack.com/reflects", "a/b")},
	{"replicator", RuleSynced, Secrets, annotated("replicator.v1.mittwald.de/replicate-from", "a/b")},
	{"vault", RuleSynced, Secrets, owned("secrets.hashicorp.com/v1beta1", "VaultStaticSecret", false)},
	{"bank-vaults", RuleSynced, Secrets, labelled("vault.banzaicloud.com/x", "y")},
	{"secrets store", RuleSynced, Secrets, labelled("secrets-store.csi.k8s.io/managed", "true")},
	{"an owner of no known version", RuleCertManager, Secrets, owned("a/b/c", "Odd", false)},
	{"a controller", RuleController, ConfigMaps, owned("apps/v1", "ReplicaSet", true)},
	{"a controller of the core", RuleController, ConfigMaps, owned("v1", "Pod", true)},
	{"a second controller", RuleController, ConfigMaps, func(o *Object) {
		owned("prow.k8s.io/v1", "ProwJob", true)(o)
		owned("batch/v1", "Job", true)(o)
	}},
	{"written by a controller", RuleWriter, ConfigMaps, writtenBy("kube-controller-manager")},
	{"Argo CD replaces", RuleReplaced, ConfigMaps, func(o *Object) {
		o.Meta.Annotations["argocd.argoproj.io/sync-options"] = "Prune=false, Replace=true"
		o.Meta.Name = hashedName(*o)
	}},
	{"Flux forces", RuleReplaced, ConfigMaps, func(o *Object) {
		o.Meta.Annotations["kustomize.toolkit.fluxcd.io/force"] = "Enabled"
		o.Meta.Name = hashedName(*o)
	}},
	{"opt-out by label", RuleOptOut, ConfigMaps, labelled(PolicyKey, PolicyNever)},
	{"opt-out by annotation", RuleOptOut, Secrets, annotated(PolicyKey, "ask-me")},
	{"opt-out by the namespace", RuleOptOut, Secrets, func(o *Object) {
		o.Namespace.Labels[PolicyKey] = PolicyNever
		o.Meta.Labels[PolicyKey] = PolicyPromote
	}},
	{"opt-out by the namespace's annotation", RuleOptOut, Secrets, func(o *Object) { o.Namespace.Annotations[PolicyKey] = PolicyNever }},
	{"reloader", RuleReloader, ConfigMaps, annotated("reloader.stakater.com/match", "true")},
	{"reloader of ConfigMaps", RuleReloader, ConfigMaps, labelled("configmap.reloader.stakater.com/x", "true")},
	{"a pod that is reloaded", RuleReloader, ConfigMaps, func(o *Object) { o.Use.Reloaded = "web-1" }},
	{"immutable", RuleImmutable, ConfigMaps, func(o *Object) { yes := true; o.Content.Immutable = &yes }},
	{"declared mutable", RuleImmutable, ConfigMaps, func(o *Object) { no := false; o.Content.Immutable = &no }},
	{"being deleted", RuleDeleted, Secrets, func(o *Object) { o.Meta.DeletionTimestamp = &metav1.Time{Time: now} }},
}

// lacking is what a name hash or an opt-in does not make up for.
var lacking = []spoilt{
	{"helm", RuleDeployed, ConfigMaps, annotated("meta.helm.sh/release-name", "app")},
	{"helm's label", RuleDeployed, ConfigMaps, labelled("app.kubernetes.io/managed-by", "Helm")},
	{"Argo CD", RuleDeployed, ConfigMaps, annotated("argocd.argoproj.io/tracking-id", "x")},
	{"Flux", RuleDeployed, Secrets, labelled("kustomize.toolkit.fluxcd.io/name", "x")},
	{"checksum annotation", RuleDeployed, ConfigMaps, func(o *Object) { o.Use.Checksummed = "web-1" }},
	{"two writers", RuleWriters, ConfigMaps, func(o *Object) {
		o.Meta.ManagedFields = append(o.Meta.ManagedFields, written("kubectl-edit"))
	}},
	{"no known writer", RuleWriters, ConfigMaps, func(o *Object) { o.Meta.ManagedFields = nil }},
	{"never seen", RuleAge, ConfigMaps, func(o *Object) { o.UnchangedSince = time.Time{} }},
	{"young", RuleAge, ConfigMaps, func(o *Object) { o.UnchangedSince = now.Add(-7*24*time.Hour + time.Second) }},
	{"from the future", RuleAge, ConfigMaps, func(o *Object) { o.UnchangedSince = now.Add(time.Hour) }},
	{"unused", RuleUnused, ConfigMaps, func(o *Object) { o.Use = &Use{} }},
	{"use unknown", RuleUnused, ConfigMaps, func(o *Object) { o.Use = nil }},
	{"no opt-in", RuleNoOptIn, ConfigMaps, func(o *Object) { o.Namespace.Labels = nil }},
	{"a hash of something else", RuleNoOptIn, ConfigMaps, func(o *Object) { o.Namespace.Labels = nil; o.Meta.Name = "settings-2456789bcd" }},
}

func TestWhatIsOptedInAndQuietIsPromoted(t *testing.T) {
	for _, resource := range []Resource{Secrets, ConfigMaps} {
		if v := Judge(promotable(resource), policy()); !v.Promote || v.Rule != RuleOptIn || v.Needs != "" {
			t.Errorf("%s: %+v", resource, v)
		}
	}
	o := promotable(ConfigMaps)
	owned("prow.k8s.io/v1", "ProwJob", true)(&o)
	if v := Judge(o, policy()); !v.Promote {
		t.Errorf("with an owner that the policy allows: %+v", v)
	}
	o = promotable(Secrets)
	o.Namespace.Labels, o.Meta.Annotations[PolicyKey] = nil, PolicyPromote
	if v := Judge(o, policy()); !v.Promote {
		t.Errorf("opted in by itself: %+v", v)
	}
}

func TestEachRuleRefuses(t *testing.T) {
	for _, c := range slices.Concat(against, lacking) {
		o := promotable(c.resource)
		c.spoil(&o)
		v := Judge(o, policy())
		if v.Promote || v.Rule != c.rule || v.Reason == "" || strings.ContainsAny(v.Reason, "\n\r") {
			t.Errorf("%s: %+v, want a refusal by %s", c.name, v, c.rule)
		}
	}
}

// Without its rule, each case would be promoted: so no rule can be lost unnoticed,
// and no case passes for another's reason.
func TestNoRuleCanBeLost(t *testing.T) {
	tested := map[Rule]bool{}
	refusals := slices.Concat(settled, never, optOut)
	for _, c := range against {
		tested[c.rule] = true
		o := promotable(c.resource)
		c.spoil(&o)
		rest := slices.DeleteFunc(slices.Clone(refusals), func(r refusal) bool { return r.rule == c.rule })
		if c.name == "an owner of no known version" {
			rest = slices.DeleteFunc(rest, func(r refusal) bool { return r.rule == RuleServiceCA || r.rule == RuleSynced })
		}
		if v := judge(o, policy(), rest, conditions); !v.Promote {
			t.Errorf("%s: without %s still refused: %+v", c.name, c.rule, v)
		}
	}
	for _, r := range refusals {
		if !tested[r.rule] {
			t.Errorf("no case is refused by %s", r.rule)
		}
	}
	for i := range conditions {
		rest := slices.Delete(slices.Clone(conditions), i, i+1)
		lost := false
		for _, c := range lacking {
			o := promotable(c.resource)
			c.spoil(&o)
			lost = lost || judge(o, policy(), refusals, rest).Promote
		}
		if !lost {
			t.Errorf("nothing notices that condition %d is gone", i)
		}
	}
}

func TestAVerdictSaysWhatItNeedsNext(t *testing.T) {
	o := promotable(Secrets)
	content, use, since := o.Content, o.Use, o.UnchangedSince
	o.Content, o.Use, o.UnchangedSince = nil, nil, time.Time{}
	for _, step := range []struct {
		needs Fact
		learn func()
	}{
		{NeedsContent, func() { o.Content = content }},
		{NeedsAge, func() { o.UnchangedSince = since }},
		{NeedsUse, func() { o.Use = use }},
	} {
		if v := Judge(o, policy()); v.Promote || v.Needs != step.needs {
			t.Fatalf("%+v, want it to need %s", v, step.needs)
		}
		step.learn()
	}
	if v := Judge(o, policy()); !v.Promote {
		t.Errorf("%+v", v)
	}
	o.Content, o.Namespace.Labels = nil, nil
	if v := Judge(o, policy()); v.Needs != "" {
		t.Errorf("an object that nobody opted in is read: %+v", v)
	}
}

func TestNothingOutweighsTheNeverListAndOptOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bad := rapid.SampledFrom(against).Draw(t, "against")
		o := promotable(bad.resource)
		if rapid.Bool().Draw(t, "hashed") {
			o.Meta.Name = "settings"
			o.Meta.Name = hashedName(o)
		}
		for _, say := range rapid.SliceOfN(rapid.SampledFrom([]func(*Object){
			labelled(PolicyKey, PolicyPromote), annotated(PolicyKey, PolicyPromote), labelled(gardenerLabel, "true"),
			annotated(ReasonKey, "x"), func(o *Object) { o.UnchangedSince = time.Unix(0, 0) }, func(o *Object) { o.Use.Pods = 1000 },
			owned("prow.k8s.io/v1", "ProwJob", true),
		}), 0, 5).Draw(t, "for") {
			say(&o)
		}
		bad.spoil(&o)
		for _, more := range rapid.SliceOfN(rapid.SampledFrom(lacking), 0, 2).Draw(t, "more") {
			// These take away what the rule looks at.
			if !slices.Contains([]string{"use unknown", "unused", "no opt-in", "a hash of something else"}, more.name) {
				more.spoil(&o)
			}
		}
		p := policy()
		p.MinAge = time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "age"))
		if v := Judge(o, p); v.Promote {
			t.Fatalf("%s: %+v", bad.name, v)
		}
	})
}

func TestFewerFactsNeverPromote(t *testing.T) {
	for _, forget := range []func(*Object){
		func(o *Object) { o.Content = nil },
		func(o *Object) { o.Use = nil },
		func(o *Object) { o.UnchangedSince = time.Time{} },
	} {
		o := promotable(Secrets)
		forget(&o)
		if v := Judge(o, policy()); v.Promote || v.Needs == "" {
			t.Errorf("%+v", v)
		}
	}
}
