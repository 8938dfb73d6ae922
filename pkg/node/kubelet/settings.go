package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// The kubelet's own defaults. Mirrors kubelet
// pkg/kubelet/apis/config/v1beta1/defaults.go, and NewKubeletFlags in
// cmd/kubelet/app/options/options.go, v1.37.
const (
	defaultRootDir        = "/var/lib/kubelet"
	defaultHealthzPort    = 10248
	defaultHealthzAddress = "127.0.0.1"
	// The kubelet prefers what the runtime says of itself (CRI RuntimeConfig).
	defaultCgroupDriver = "cgroupfs"
)

// inFiles names the files of the configuration where no process tells which:
// the first of those listed that is a KubeletConfiguration. Under the name that
// OpenShift's has, kubeadm and Kubespray keep a kubeconfig.
func inFiles(cfg config.Kubelet) ([]settingsFile, error) {
	dropIns := listSettings("", cfg.ConfigDir, "/")
	for _, path := range cfg.Config {
		main := readSettings(path, filepath.Dir(path), false)
		if !errors.Is(main.err, fs.ErrNotExist) && !errors.Is(main.err, errNotConfiguration) {
			return append([]settingsFile{main}, dropIns...), nil
		}
	}
	if len(cfg.Config) == 0 {
		return dropIns, nil
	}
	return dropIns, fmt.Errorf("no kubelet configuration at %s; set kubelet.config", strings.Join(cfg.Config, ", "))
}

// settingsOf puts together what a process has read, its flags, and what our
// own configuration says instead. Where it is lost what the process has read,
// the files count for nothing: the kubelet's defaults are the more patient
// values. The manifest directory has no such default, and is unknown then.
func settingsOf(files inForceNow, f flags, cfg config.Kubelet) node.Settings {
	doc := map[string]any{}
	if !files.lost {
		for _, layer := range files.layers {
			mergePatch(doc, layer)
		}
	}
	mergePatch(doc, f.fields)
	s := node.Settings{
		Err: files.err, NotReadYet: files.unread,
		CgroupDriver: defaultCgroupDriver, RootDir: defaultRootDir, NodeLabels: f.labels,
		FeatureGates: map[string]bool{},
	}
	s.StaticPodPath, _ = doc[fieldStaticPodPath].(string)
	s.StaticPodURL, _ = doc[fieldStaticPodURL].(string)
	s.RuntimeEndpoint, _ = doc[fieldEndpoint].(string)
	s.FileCheckFrequency = durationIn(doc, fieldFileCheck)
	if driver, _ := doc[fieldCgroupDriver].(string); driver != "" {
		s.CgroupDriver = driver
	}
	if f.rootDir != "" {
		s.RootDir = f.rootDir
	}
	pods, _ := doc[fieldMaxPods].(float64)
	s.MaxPods = int(pods)
	gates, _ := doc[fieldFeatureGates].(map[string]any)
	for name, on := range gates {
		if on, ok := on.(bool); ok {
			s.FeatureGates[name] = on
		}
	}
	crashLoop, _ := doc[fieldCrashLoop].(map[string]any)
	s.MaxContainerRestartPeriod = durationIn(crashLoop, fieldMaxPeriod)
	if _, given := doc[fieldHealthzPort]; given || !files.lost {
		s.HealthzURL = healthzOf(doc)
	}
	override(&s, cfg)
	if _, given := doc[fieldStaticPodPath]; files.lost && !given && cfg.StaticPodPath == "" {
		s.StaticPodPathErr = fmt.Errorf("the kubelet's manifest directory is not known: %s changed after the kubelet had started, or cannot be read, and was not seen before; restart the kubelet, or set kubelet.staticPodPath", strings.Join(files.unread, ", "))
	}
	return s
}

// override puts our own configuration on top.
func override(s *node.Settings, cfg config.Kubelet) {
	if cfg.StaticPodPath != "" {
		s.StaticPodPath = cfg.StaticPodPath
	}
	if d := cfg.MaxContainerRestartPeriod.Duration; d > 0 {
		s.MaxContainerRestartPeriod = d
	}
	maps.Copy(s.FeatureGates, cfg.FeatureGates)
	if u := cfg.HealthzURL; u != "" && u != config.Default().Kubelet.HealthzURL {
		s.HealthzURL = cfg.HealthzURL
	}
}

func durationIn(doc map[string]any, field string) time.Duration {
	text, _ := doc[field].(string)
	d, _ := time.ParseDuration(text)
	return d
}

// healthzOf is where a kubelet with this configuration answers pings. It does
// so without a certificate, so that it is asked on loopback addresses only.
func healthzOf(doc map[string]any) string {
	port, given := doc[fieldHealthzPort].(float64)
	if !given {
		port = defaultHealthzPort
	}
	text, _ := doc[fieldHealthzAddress].(string)
	if text == "" {
		text = defaultHealthzAddress
	}
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil || port == 0:
		return ""
	case address.Unmap() == netip.IPv4Unspecified():
		text = "127.0.0.1"
	case address == netip.IPv6Unspecified():
		text = "::1"
	case !address.Unmap().IsLoopback():
		return ""
	}
	return "http://" + net.JoinHostPort(text, strconv.Itoa(int(port))) + "/healthz"
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
