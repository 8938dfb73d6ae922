package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// identityOf says who the kubelet of this node is, and how that is known.
func identityOf(s *node.Snapshot) status.Identity {
	k, set := s.Kubelet.Process, s.Settings
	return status.Identity{
		NodeName: set.NodeName, NodeNameFrom: set.NodeNameFrom, Version: set.Version,
		PID: k.PID, Unit: k.Unit, Program: k.Program, Error: text(cmp.Or(set.NodeNameErr, k.Err)),
	}
}

// notKnown says, in a line each, what the look could not find out. What is not
// known holds back every step that rests on it.
func notKnown(s *node.Snapshot) []string {
	var lines []string
	add := func(what string, err error) {
		if err != nil {
			lines = append(lines, what+": "+text(err))
		}
	}
	add("the node's name", s.Settings.NodeNameErr)
	add("which process is the kubelet", s.Kubelet.Process.Err)
	if s.Settings.Version == "" {
		lines = append(lines, "the kubelet's version: what it refuses in manifests, and how long it backs off, is not known for certain")
	}
	add("the host", s.Host.Err)
	if s.Kubelet.View.Source == node.ViewNone {
		line := "the kubelet's view of its pods"
		switch told := s.Kubelet.Told; {
		case told.Known():
			line += "; its journal is read instead"
		case told.Err != nil:
			line += ", and its journal: " + text(told.Err)
		}
		lines = append(lines, line)
	}
	if s.Runtime.Err == nil && s.Runtime.Network == node.Unknown {
		lines = append(lines, "whether the pod network is ready")
	}
	for _, file := range s.Settings.NotReadYet {
		lines = append(lines, "what the running kubelet has of "+file+": the file is younger than its process")
	}
	return lines
}

// inProgress says, in a line each, what work is seen: the kubelet waits for it,
// and so does the agent.
func inProgress(s *node.Snapshot) []string {
	var lines []string
	for _, c := range s.Runtime.Calls {
		line := fmt.Sprintf("runtime call %s, process %d, for %d s", c.Verb, c.PID, seconds(c.Age))
		if pod := podOf(s, c.ContainerID); pod != "" {
			line += ", on " + pod
		}
		lines = append(lines, line)
	}
	if s.Runtime.Network == node.No {
		lines = append(lines, strings.TrimSuffix("the pod network is not ready: "+firstLine(s.Runtime.NetworkDetail), ": "))
	}
	var images []string
	for image, there := range s.Runtime.Images {
		if there == node.No {
			images = append(images, "image "+image+" is not there: it is being pulled, or cannot be")
		}
	}
	slices.Sort(images)
	lines = append(lines, images...)
	for _, u := range []node.Unit{s.Kubelet.Unit, s.Runtime.Unit} {
		if u.JobPending || u.ActiveState == "activating" || u.ActiveState == "deactivating" {
			lines = append(lines, fmt.Sprintf("systemd is at %s: %s/%s", u.Name, u.ActiveState, u.SubState))
		}
	}
	return lines
}

func podOf(s *node.Snapshot, containerID string) string {
	for i := range s.Runtime.Sandboxes {
		sb := &s.Runtime.Sandboxes[i]
		if sb.ID == containerID || slices.ContainsFunc(sb.Containers, func(c node.Container) bool { return c.ID == containerID }) {
			return sb.Pod.String()
		}
	}
	return ""
}
