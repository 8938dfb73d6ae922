//go:build world

package world

import (
	"errors"
	"fmt"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// Mask makes one source unknown for a while.
type Mask struct {
	Source string
	// From and To are on the boot clock; a To of 0 is for ever.
	From, To time.Duration
	// Every makes only each such look unknown; 0 for all.
	Every time.Duration
}

// String is one line.
func (m Mask) String() string {
	return fmt.Sprintf("%s unknown from %s to %s (every %s)", m.Source, clock(m.From), clock(m.To), m.Every)
}

var errMasked = errors.New("no answer")

// sources are all that can be made unknown, each as the real one would be.
var sources = map[string]func(*node.Snapshot){
	"view": func(s *node.Snapshot) {
		s.Kubelet.View = node.View{Source: node.ViewNone, Err: errMasked}
	},
	"view-and-journal": func(s *node.Snapshot) {
		s.Kubelet.View = node.View{Source: node.ViewNone, Err: errMasked}
		s.Kubelet.Told = node.Told{Err: errMasked}
	},
	"journal":           func(s *node.Snapshot) { s.Kubelet.Told = node.Told{Err: errMasked} },
	"journal-not-asked": func(s *node.Snapshot) { s.Kubelet.Told = node.Told{} },
	"verbosity":         func(s *node.Snapshot) { s.Kubelet.Told.NotDeleted = nil },
	"healthz": func(s *node.Snapshot) {
		s.Settings.HealthzURL, s.Kubelet.Healthy, s.Kubelet.HealthErr = "", false, nil
	},
	"manifests": func(s *node.Snapshot) {
		s.Intent = node.Intent{Dir: s.Intent.Dir, NodeName: s.Intent.NodeName, Err: errMasked}
	},
	"runtime": func(s *node.Snapshot) {
		s.Runtime.Err, s.Runtime.Sandboxes, s.Runtime.Images, s.Runtime.Network, s.Runtime.NetworkDetail = errMasked, nil, nil, node.Unknown, ""
	},
	"network": func(s *node.Snapshot) { s.Runtime.Network, s.Runtime.NetworkDetail = node.Unknown, "" },
	"images":  func(s *node.Snapshot) { s.Runtime.Images = nil },
	"systemd": func(s *node.Snapshot) {
		s.Kubelet.Unit = node.Unit{Name: s.Kubelet.Unit.Name, Err: errMasked}
		s.Runtime.Unit = node.Unit{Name: s.Runtime.Unit.Name, Err: errMasked}
		s.Host.Err, s.Host.ShuttingDown, s.Host.Busy = errMasked, false, nil
	},
	"kubelet-unit": func(s *node.Snapshot) { s.Kubelet.Unit = node.Unit{Name: s.Kubelet.Unit.Name, Err: errMasked} },
	"runtime-unit": func(s *node.Snapshot) { s.Runtime.Unit = node.Unit{Name: s.Runtime.Unit.Name, Err: errMasked} },
	"last-job":     func(s *node.Snapshot) { s.Kubelet.Unit.LastJob = node.Job{Err: errMasked} },
	"host":         func(s *node.Snapshot) { s.Host = node.Host{BootID: s.Host.BootID, Err: errMasked} },
	"node-name": func(s *node.Snapshot) {
		s.Settings.NodeName, s.Settings.NodeNameFrom, s.Settings.NodeNameErr = "", "", errMasked
		s.Intent = node.Intent{Dir: s.Intent.Dir, Err: errMasked}
	},
	"settings": func(s *node.Snapshot) {
		s.Settings.Err, s.Settings.Version, s.Settings.MaxContainerRestartPeriod = errMasked, "", 0
	},
	"kubelet-process": func(s *node.Snapshot) {
		s.Kubelet.Process = node.KubeletProcess{Err: errMasked}
		s.Kubelet.Told = node.Told{Err: errMasked}
	},
	"container-processes": func(s *node.Snapshot) {
		eachContainer(s, func(_ *node.Sandbox, c *node.Container) {
			c.Process.State, c.Process.CgroupEmpty = node.ProcessUnknown, false
		})
	},
	"sandbox-processes": func(s *node.Snapshot) {
		eachContainer(s, func(sb *node.Sandbox, _ *node.Container) { sb.Process = node.Process{} })
	},
	"exit-codes": func(s *node.Snapshot) {
		eachContainer(s, func(_ *node.Sandbox, c *node.Container) {
			if c.State == node.ContainerExited {
				c.StatusUnknown, c.ExitCode, c.Reason, c.FinishedAt = true, 0, "", time.Time{}
			}
		})
	},
	"graces": func(s *node.Snapshot) {
		eachContainer(s, func(_ *node.Sandbox, c *node.Container) { c.Grace = -1 })
	},
	"config-sources": func(s *node.Snapshot) {
		eachContainer(s, func(sb *node.Sandbox, _ *node.Container) { sb.Source = "" })
	},
}

// eachContainer changes copies.
func eachContainer(s *node.Snapshot, change func(*node.Sandbox, *node.Container)) {
	sandboxes := append([]node.Sandbox(nil), s.Runtime.Sandboxes...)
	for i := range sandboxes {
		sb := &sandboxes[i]
		sb.Containers = append([]node.Container(nil), sb.Containers...)
		for j := range sb.Containers {
			change(sb, &sb.Containers[j])
		}
	}
	s.Runtime.Sandboxes = sandboxes
}

func maskAll(masks []Mask, s *node.Snapshot) {
	for _, m := range masks {
		at := s.Taken.Boot
		if at < m.From || m.To > 0 && at >= m.To || m.Every > 0 && at/m.Every%2 == 1 {
			continue
		}
		sources[m.Source](s)
	}
}
