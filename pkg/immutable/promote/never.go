package promote

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The rules of the never-list. Behind each stands a program that writes such
// objects in place, and would be refused for ever.
const (
	RuleNamespace      Rule = "namespace"
	RulePublished      Rule = "published"
	RuleAccountToken   Rule = "service-account-token"
	RuleAccountPull    Rule = "service-account-pull-secret"
	RuleTLS            Rule = "tls"
	RuleBootstrapToken Rule = "bootstrap-token"
	RuleHelmRelease    Rule = "helm-release"
	RuleType           Rule = "type"
	RuleLeaderElection Rule = "leader-election"
	RuleCAInjection    Rule = "ca-injection"
	RuleCertManager    Rule = "cert-manager"
	RuleServiceCA      Rule = "service-ca"
	RuleSynced         Rule = "synced"
	RuleController     Rule = "controller"
	RuleWriter         Rule = "controller-writes"
	RuleReplaced       Rule = "replaced"
)

// never always wins. Each rule looks at what is known; one about content is asked
// again once that has been read.
var never = []refusal{
	{RuleNamespace, func(o Object, p Policy) string {
		ns := o.Meta.Namespace
		if ns == "openshift" || strings.HasPrefix(ns, "openshift-") || strings.HasPrefix(ns, "kube-") {
			return "namespace " + ns + " is the cluster's own"
		}
		if ns == p.Namespace && ns != "" {
			return "namespace " + ns + " is the promoter's own"
		}
		return ""
	}},
	// Publishers update them in each namespace when a CA rotates: Kubernetes
	// pkg/controller/certificates/rootcacertpublisher/publisher.go syncNamespace,
	// v1.37 (kubernetes#112147).
	{RulePublished, func(o Object, _ Policy) string {
		if o.Resource == ConfigMaps && slices.Contains(published, o.Meta.Name) {
			return "its publisher updates it when the CA rotates"
		}
		return ""
	}},
	{RuleAccountToken, func(o Object, _ Policy) string {
		if typed(o, corev1.SecretTypeServiceAccountToken) {
			return "the token controller writes it"
		}
		return ""
	}},
	// OpenShift rewrites the pull secrets of service accounts
	// (openshift-controller-manager#276).
	{RuleAccountPull, func(o Object, _ Policy) string {
		if o.Resource != Secrets {
			return ""
		}
		if typed(o, corev1.SecretTypeDockercfg) {
			return "pull secrets of type " + string(corev1.SecretTypeDockercfg) + " are rewritten by the platform"
		}
		for _, key := range []string{corev1.ServiceAccountNameKey, "openshift.io/token-secret.name", "openshift.io/internal-registry-auth-token.service-account", "openshift.io/internal-registry-auth-token.binding"} {
			if _, ok := o.Meta.Annotations[key]; ok {
				return "it belongs to a service account (" + key + ")"
			}
		}
		if o.Use != nil && o.Use.PullSecretOf != "" {
			return "service account " + o.Use.PullSecretOf + " lists it"
		}
		return ""
	}},
	{RuleTLS, func(o Object, _ Policy) string {
		if typed(o, corev1.SecretTypeTLS) {
			return "certificates are renewed in place"
		}
		return ""
	}},
	{RuleBootstrapToken, func(o Object, _ Policy) string {
		if typed(o, "bootstrap.kubernetes.io/token") || o.Resource == Secrets && strings.HasPrefix(o.Meta.Name, "bootstrap-token-") {
			return "bootstrap tokens are extended and cleaned up in place"
		}
		return ""
	}},
	{RuleHelmRelease, func(o Object, _ Policy) string {
		if typed(o, "helm.sh/release.v1") || strings.HasPrefix(o.Meta.Name, "sh.helm.release.v1.") {
			return "helm rewrites its releases, and no pod mounts them"
		}
		return ""
	}},
	// Whoever invents a type also writes it.
	{RuleType, func(o Object, _ Policy) string {
		if o.Resource == Secrets && o.Content != nil && o.Content.Type != "" && !slices.Contains(plainTypes, o.Content.Type) {
			return "type " + string(o.Content.Type) + " belongs to a program"
		}
		return ""
	}},
	{RuleLeaderElection, func(o Object, _ Policy) string {
		if _, ok := o.Meta.Annotations["control-plane.alpha.kubernetes.io/leader"]; ok {
			return "it is a leader election's lock"
		}
		if o.Resource != ConfigMaps {
			return ""
		}
		for _, end := range []string{"leader-election", "leader-elect", "leader", "lock"} {
			if o.Meta.Name == end || strings.HasSuffix(o.Meta.Name, "-"+end) || strings.HasSuffix(o.Meta.Name, "."+end) {
				return "its name is that of a leader election's lock"
			}
		}
		return ""
	}},
	{RuleCAInjection, func(o Object, _ Policy) string {
		for _, m := range []map[string]string{o.Meta.Labels, o.Meta.Annotations} {
			for key := range m {
				if _, name, _ := strings.Cut(key, "/"); slices.Contains(injections, name) {
					return "a CA bundle is injected into it (" + key + ")"
				}
			}
		}
		return ""
	}},
	{RuleCertManager, mark("cert-manager", "cert-manager.io", "certmanager.k8s.io")},
	{RuleServiceCA, mark("service-ca", "service.beta.openshift.io", "service.alpha.openshift.io")},
	{RuleSynced, mark("what copies it from elsewhere", syncers...)},
	{RuleController, func(o Object, p Policy) string {
		for _, owner := range o.Meta.OwnerReferences {
			if owner.Controller == nil || !*owner.Controller {
				continue
			}
			gv, err := schema.ParseGroupVersion(owner.APIVersion)
			kind := strings.TrimSuffix(owner.Kind+"."+gv.Group, ".")
			if err != nil || !slices.Contains(p.Owners, kind) {
				return "its controller is " + kind + " " + owner.Name
			}
		}
		return ""
	}},
	// Controllers that set no owner are known by the name they write under.
	{RuleWriter, func(o Object, _ Policy) string {
		for _, writer := range dataWriters(o.Meta) {
			for _, part := range controllers {
				if strings.Contains(strings.ToLower(writer), part) {
					return "a controller writes it (" + writer + ")"
				}
			}
		}
		return ""
	}},
	// Deleted and made again under one name, an immutable object is served stale by
	// kubelets that use it (kubernetes#119733; argo-cd#5394).
	{RuleReplaced, func(o Object, _ Policy) string {
		for _, option := range strings.Split(o.Meta.Annotations["argocd.argoproj.io/sync-options"], ",") {
			if option = strings.TrimSpace(option); option == "Replace=true" || option == "Force=true" {
				return "Argo CD replaces it (" + option + ")"
			}
		}
		if strings.EqualFold(o.Meta.Annotations["kustomize.toolkit.fluxcd.io/force"], "enabled") {
			return "Flux replaces it by force"
		}
		return ""
	}},
}

// published are made in every namespace and updated there.
var published = []string{"kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert", "linkerd-identity-trust-roots"}

// injections are names of labels and annotations of several domains.
var injections = []string{"inject-cabundle", "inject-trusted-cabundle", "inject-ca-from", "inject-ca-from-secret", "inject-apiserver-ca"}

// plainTypes are those that people make.
var plainTypes = []corev1.SecretType{
	corev1.SecretTypeOpaque, corev1.SecretTypeDockerConfigJson, corev1.SecretTypeBasicAuth, corev1.SecretTypeSSHAuth,
	// These have rules of their own above.
	corev1.SecretTypeServiceAccountToken, corev1.SecretTypeDockercfg, corev1.SecretTypeTLS, "bootstrap.kubernetes.io/token", "helm.sh/release.v1",
}

// syncers are the API groups, and the domains of labels and annotations, of
// programs that keep copies up to date.
var syncers = []string{
	"external-secrets.io",
	"bitnami.com",                       // sealed-secrets
	"emberstack.com",                    // reflector
	"replicator.v1.mittwald.de",         // kubernetes-replicator
	"vault.banzaicloud.com",             // bank-vaults
	"hashicorp.com",                     // vault-secrets-operator
	"ricoberger.de",                     // vault-secrets-operator
	"redhatcop.redhat.io",               // vault-config-operator
	"secrets-store.csi.x-k8s.io",        // secrets-store driver, synced as Secret
	"secrets-store.csi.k8s.io",          //
	"kubed.appscode.com",                // config-syncer
	"onepassword.com",                   // 1Password operator
	"secrets.doppler.com",               //
	"secrets.infisical.com",             //
	"spv.no",                            // akv2k8s
	"isindir.github.com",                // sops-secrets-operator
	"crossplane.io",                     // connection secrets
	"operators.coreos.com",              // operator lifecycle manager
	"olm.operatorframework.io",          //
	"policy.open-cluster-management.io", // policies enforce content
}

// controllers are parts of field managers' names.
var controllers = []string{
	"kube-controller-manager", "cluster-policy-controller", "openshift-controller-manager", "service-ca", "cert-manager", "trust-manager", "cainjector",
	"external-secrets", "sealed-secrets", "sealedsecrets", "reflector", "replicator", "vault", "secrets-store", "kubed", "leaderelection", "leader-election",
}

// typed is false while the type is unknown; the list of Secrets asks the API
// server to leave such types out, and the content tells the rest.
func typed(o Object, t corev1.SecretType) bool {
	return o.Resource == Secrets && o.Content != nil && o.Content.Type == t
}

// mark refuses what carries a label, an annotation or an owner of the domains.
func mark(who string, domains ...string) func(Object, Policy) string {
	return func(o Object, _ Policy) string {
		for _, m := range []map[string]string{o.Meta.Labels, o.Meta.Annotations} {
			if key := keyOfDomain(m, domains); key != "" {
				return who + " writes it (" + key + ")"
			}
		}
		for _, owner := range o.Meta.OwnerReferences {
			if gv, err := schema.ParseGroupVersion(owner.APIVersion); err != nil || inDomain(gv.Group, domains) {
				return who + " writes it (" + owner.Kind + " " + owner.Name + ")"
			}
		}
		return ""
	}
}
