package kubelet

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// SettingsReader reads the kubelet's configuration file and its drop-ins, and
// reads them again when one of them has changed. One goroutine at a time may
// use it.
//
// It sees files and the agent's own overrides, not the kubelet's command line
// (which wins over the files) nor what the kubelet had read when it started.
type SettingsReader struct {
	cfg      config.Kubelet
	hostname func() (string, error)
	now      func() time.Time

	// files is the state in which settings was read; nil to read anew.
	files    []settingsFile
	settings node.Settings
}

var _ node.SettingsReader = (*SettingsReader)(nil)

// NewSettingsReader returns a reader that has read nothing yet. It keeps cfg
// and does not change it.
func NewSettingsReader(cfg config.Kubelet) *SettingsReader {
	return &SettingsReader{cfg: cfg, hostname: os.Hostname, now: time.Now}
}

// Settings returns the settings as the files have them now. Err names what was
// wrong in which file and field; such a field has the value of the files
// before it, or the kubelet's default, and all others are as read. FeatureGates
// is shared between calls: the caller must not write to it.
func (r *SettingsReader) Settings() node.Settings {
	files := r.stat()
	if r.files == nil || !slices.Equal(files, r.files) {
		read := r.now()
		r.settings = r.read(files)
		r.files = nil
		if r.settings.Err == nil && settled(files, read) && slices.Equal(files, r.stat()) {
			r.files = files
		}
	}
	s := r.settings
	// The host name may be set late during boot; it is not part of the files.
	name, err := r.nodeName()
	s.NodeName, s.Err = name, oneError(s.Err, err)
	return s
}

// read merges the files and puts the overrides on top.
func (r *SettingsReader) read(files []settingsFile) node.Settings {
	doc, err := r.merged(files)
	s := settingsOf(doc)
	s.Err = err
	if r.cfg.StaticPodPath != "" {
		s.StaticPodPath = r.cfg.StaticPodPath
	}
	if d := r.cfg.MaxContainerRestartPeriod.Duration; d > 0 {
		s.MaxContainerRestartPeriod = d
	}
	maps.Copy(s.FeatureGates, r.cfg.FeatureGates)
	return s
}

// nodeName mirrors component-helpers node/util/hostname.go GetHostname, v0.37.
func (r *SettingsReader) nodeName() (string, error) {
	name := r.cfg.NodeName
	if name == "" {
		var err error
		if name, err = r.hostname(); err != nil {
			return "", fmt.Errorf("host name: %w; set kubelet.nodeName", err)
		}
	}
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" {
		return "", errors.New("host name: is empty; set kubelet.nodeName")
	}
	return name, nil
}

// oneError joins errors into one line, without those that are nil.
func oneError(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	first := errs[0]
	for _, err := range errs[1:] {
		first = fmt.Errorf("%w; %w", first, err)
	}
	return first
}
