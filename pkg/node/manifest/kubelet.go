package manifest

import (
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// oldest and newest are the minor versions of Kubernetes 1 whose sources the
// rules of this package were read in.
const oldest, newest = 30, 37

// kubelet is whose rules hold. The zero value is a kubelet of which nothing is
// known: it refuses what all of them refuse.
type kubelet struct {
	// minor is 33 for 1.33.13; 0 if the version is unknown, or not one of those
	// whose rules are known.
	minor int
	// gated is set when it is known which feature gates are set; gates are they.
	gated bool
	gates map[string]bool
}

// minorOf reads a version such as "1.33.13" or "v1.33.5+rke2r1".
func minorOf(text string) int {
	v, err := version.ParseGeneric(text)
	if err != nil || v.Major() != 1 || v.Minor() < oldest || v.Minor() > newest {
		return 0
	}
	return int(v.Minor())
}

// feature is something that some kubelets have, for static pods, and others do
// not. What a pod of the API may have is another matter: until 1.34 static pods
// were checked without regard to feature gates, and by the strictest rules
// (kubelet pkg/kubelet/config/common.go tryDecodeSinglePod, v1.34 and v1.35).
type feature struct {
	// since is the first minor version that can have it.
	since int
	// gate decides whether it has; empty if no gate does. The gate is on by
	// default from the minor version "on", and cannot be off from "fixed";
	// 0 means never.
	gate      string
	on, fixed int
}

// Read in pkg/features/kube_features.go, and in the functions that are named
// where a feature is used, of the last patches of 1.30 to 1.37.
var (
	noReferences       = feature{since: 34, gate: "PreventStaticPodAPIReferences", on: 34, fixed: 37}
	noClaims           = feature{since: 32}
	restartPolicies    = feature{since: 35, gate: "ContainerRestartRules", on: 35}
	restartAll         = feature{since: 35, gate: "RestartAllContainersOnContainerExits", on: 36}
	sleepZero          = feature{since: 35}
	anyEnvName         = feature{since: 35}
	anySearchName      = feature{since: 35}
	hostIPs            = feature{since: 32}
	imageVolumes       = feature{since: 32}
	imagePullDefault   = feature{since: 32, gate: "ImageVolume", on: 35, fixed: 36}
	compareTolerations = feature{since: 35, gate: "TaintTolerationComparisonOperators"}
	usersOnHostNetwork = feature{since: 35, gate: "UserNamespacesHostNetworkSupport"}
	resizeOfInit       = feature{since: 35}
)

// from is what kubelets do since a minor version.
func from(minor int) feature { return feature{since: minor} }

func (k kubelet) has(f feature) node.Answer {
	set, explicit := k.gates[f.gate]
	// These two change the defaults of others.
	_, alpha := k.gates["AllAlpha"]
	_, beta := k.gates["AllBeta"]
	switch {
	case k.minor == 0:
		return node.Unknown
	case k.minor < f.since:
		return node.No
	case f.gate == "", f.fixed > 0 && k.minor >= f.fixed:
		return node.Yes
	case explicit:
		return node.AnswerOf(set)
	case !k.gated, alpha, beta:
		return node.Unknown
	}
	return node.AnswerOf(f.on > 0 && k.minor >= f.on)
}

func not(a node.Answer) node.Answer {
	switch a {
	case node.Yes:
		return node.No
	case node.No:
		return node.Yes
	}
	return node.Unknown
}

func both(a, b node.Answer) node.Answer {
	switch {
	case a == node.No || b == node.No:
		return node.No
	case a == node.Yes && b == node.Yes:
		return node.Yes
	}
	return node.Unknown
}
