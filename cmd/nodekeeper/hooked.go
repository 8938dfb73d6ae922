package main

import (
	"cmp"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/nodekeeper/nodekeeper/pkg/lifecycle/hooksd"
)

// hooked is the OCI hook as the agent installs it, and how it fares. Only state
// may be called by others than its owner.
type hooked struct {
	options hooksd.Options // Dir is empty if there is to be none
	// deaf is why nobody listens for the hook's events; missing why it is not
	// installed.
	deaf, missing error
	log           *slog.Logger
	is            atomic.Pointer[string]
}

func newHooked(o hooksd.Options, deaf error, log *slog.Logger) *hooked {
	h := &hooked{options: o, deaf: deaf, log: log}
	h.is.Store(new(string))
	if o.Dir != "" {
		h.missing = hooksd.Install(o)
	}
	h.look()
	return h
}

// look tries again what failed, mends what would do harm, and looks for what has
// gone wrong since, with other hooks too: CRI-O does not start over one that it
// cannot read. One that somebody took away stays away.
func (h *hooked) look() {
	var wrong []string
	if h.deaf != nil {
		wrong = append(wrong, h.deaf.Error())
	}
	switch {
	case h.missing != nil:
		h.missing = hooksd.Install(h.options)
	case h.options.Dir != "":
		var mended error
		if mended, h.missing = hooksd.Mend(h.options); mended != nil {
			h.log.Warn("the OCI hook was written again", "error", mended)
		}
	}
	switch {
	case h.missing != nil:
		wrong = append(wrong, h.missing.Error())
	case h.options.Dir != "":
		wrong = append(wrong, hooksd.Check(h.options, dirsWith(h.options.Dir))...)
	}
	text := strings.Join(wrong, "; ")
	switch was := *h.is.Swap(&text); {
	case text == was:
	case text != "":
		h.log.Warn("the OCI hook", "error", text)
	default:
		h.log.Info("the OCI hook: works again")
	}
}

// state is for the status.
func (h *hooked) state() string { return cmp.Or(*h.is.Load(), working) }
