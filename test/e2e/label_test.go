package e2e

import (
	"flag"
	"os"
	"testing"

	"github.com/onsi/ginkgo/v2/types"
)

// Labels, as in Kubernetes' e2e_node.
const (
	slow       = "Slow"             // more than five minutes
	serial     = "Serial"           // changes the machine: nothing may run beside it
	disruptive = "Disruptive"       // breaks the node's services
	repair     = "Feature:Restart"  // an act is expected
	quiet      = "Feature:Quiet"    // no act is allowed
	records    = "Feature:Records"  // crash records are expected
	guard      = "Feature:Guard"    // the kubelet goes through the watch guard
	observe    = "Feature:Observe"  // metrics, Events, the condition of the Node
	delivery   = "Feature:Delivery" // all comes by MachineConfigs
	core       = "Core"             // also on nodes of the plain profile
)

var labelFilter = flag.String("label-filter", "!"+slow, "run tests whose labels match, in ginkgo's syntax")

var deliver = flag.Bool("delivered", false, "install the agent by rendered MachineConfigs, out of an image")

var plain = flag.Bool("plain", false, "run on nodes of the plain profile, whose kubelet shows its pods to everybody")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}

// labelled skips a test that the label filter leaves out, and lets it run
// beside others otherwise.
func labelled(t *testing.T, labels ...string) {
	t.Helper()
	match, err := types.ParseLabelFilter(*labelFilter)
	if err != nil {
		t.Fatalf("-label-filter %q: %v", *labelFilter, err)
	}
	if !match(labels) {
		t.Skipf("labels %v do not match -label-filter %q", labels, *labelFilter)
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: a box has mounts, namespaces and devices of its own")
	}
	for _, l := range labels {
		if l == serial {
			return
		}
	}
	t.Parallel()
}
