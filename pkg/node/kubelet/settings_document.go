package kubelet

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// A file is decoded by hand and not into KubeletConfiguration of
// k8s.io/kubelet/config/v1beta1: that package drags in component-base's
// logging and tracing for a few fields, and would fail on the whole file where
// a single field is bad.

// The fields that are read, by their JSON names.
const (
	fieldStaticPodPath  = "staticPodPath"
	fieldStaticPodURL   = "staticPodURL"
	fieldFileCheck      = "fileCheckFrequency"
	fieldMaxPods        = "maxPods"
	fieldHealthzPort    = "healthzPort"
	fieldHealthzAddress = "healthzBindAddress"
	fieldCgroupDriver   = "cgroupDriver"
	fieldEndpoint       = "containerRuntimeEndpoint"
	fieldFeatureGates   = "featureGates"
	fieldCrashLoop      = "crashLoopBackOff"
	fieldMaxPeriod      = "maxContainerRestartPeriod"
)

// What the kubelet accepts for crashLoopBackOff.maxContainerRestartPeriod.
// Mirrors kubelet pkg/kubelet/apis/config/validation/validation.go, v1.37.
const (
	minRestartPeriod = time.Second
	maxRestartPeriod = 300 * time.Second
)

var settingsFields = []string{
	fieldStaticPodPath, fieldStaticPodURL, fieldFileCheck, fieldMaxPods, fieldHealthzPort, fieldHealthzAddress,
	fieldCgroupDriver, fieldEndpoint, fieldFeatureGates, fieldCrashLoop,
}

var errNotConfiguration = errors.New("not a KubeletConfiguration of kubelet.config.k8s.io/v1beta1")

// decodeSettings parses one file, YAML or JSON, down to the fields that are
// good. The error is one line that names the bad ones. null is good in all of
// them: it means the default, and in a drop-in it removes what the files before
// it said.
//
// Mirrors kubelet pkg/kubelet/kubeletconfig/util/codec/codec.go, v1.37: unknown
// fields are let through, and a field given twice in the main file as well (the
// last one stands); in a drop-in the second is an error.
func decodeSettings(data []byte, dropIn bool) (map[string]any, error) {
	if len(data) == 0 {
		return nil, errors.New("the file is empty")
	}
	unmarshal := yaml.Unmarshal
	if dropIn {
		unmarshal = func(data []byte, into any, _ ...yaml.JSONOpt) error { return yaml.UnmarshalStrict(data, into) }
	}
	var doc map[string]any
	if err := unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("not YAML: %s", inWords(err))
	}
	if doc["apiVersion"] != "kubelet.config.k8s.io/v1beta1" || doc["kind"] != "KubeletConfiguration" {
		return nil, errNotConfiguration
	}
	good := map[string]any{}
	var bad []error
	for _, name := range settingsFields {
		value, given := doc[name]
		if !given {
			continue
		}
		if value != nil {
			var err error
			if value, err = checkField(name, value); err != nil {
				bad = append(bad, fmt.Errorf("%s: %w", name, err))
			}
			if value == nil {
				continue
			}
		}
		good[name] = value
	}
	return good, oneError(bad...)
}

// checkField returns the part of a field's value that is good, or nil.
func checkField(name string, value any) (any, error) {
	text, isText := value.(string)
	number, isNumber := value.(float64)
	switch name {
	case fieldFeatureGates:
		return checkFeatureGates(value)
	case fieldCrashLoop:
		return checkCrashLoop(value)
	case fieldMaxPods:
		if !isNumber || number < 0 || number > math.MaxInt32 || number != math.Trunc(number) {
			return nil, errors.New("must be a number of pods")
		}
	case fieldHealthzPort:
		if !isNumber || number < 0 || number > math.MaxUint16 || number != math.Trunc(number) {
			return nil, errors.New("must be a port, or 0")
		}
	case fieldFileCheck:
		if d, err := time.ParseDuration(text); err != nil || d < 0 {
			return nil, errors.New(`must be a time such as "20s"`)
		}
	case fieldHealthzAddress:
		if _, err := netip.ParseAddr(text); err != nil && text != "" || !isText {
			return nil, errors.New("must be an IP address")
		}
	case fieldCgroupDriver:
		if !isText || text != "" && text != "systemd" && text != "cgroupfs" {
			return nil, errors.New("must be systemd or cgroupfs")
		}
	default:
		if !isText {
			return nil, errors.New("must be a string")
		}
	}
	return value, nil
}

// checkFeatureGates keeps the gates that are on, off or removed.
func checkFeatureGates(value any) (any, error) {
	gates, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("must map gates to true or false")
	}
	var bad []string
	for name, on := range gates {
		if _, ok := on.(bool); !ok && on != nil {
			bad = append(bad, name)
			delete(gates, name)
		}
	}
	if len(bad) > 0 {
		slices.Sort(bad)
		return gates, fmt.Errorf("%q must be true or false", strings.Join(bad, ", "))
	}
	return gates, nil
}

// checkCrashLoop keeps the restart period only, as a string that parses.
func checkCrashLoop(value any) (any, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("must be an object")
	}
	period, given := object[fieldMaxPeriod]
	if !given {
		return map[string]any{}, nil
	}
	if period != nil {
		text, _ := period.(string)
		d, err := time.ParseDuration(text)
		if err != nil || d < minRestartPeriod || d > maxRestartPeriod {
			return nil, fmt.Errorf("%s must be between %q and %q", fieldMaxPeriod, "1s", "300s")
		}
	}
	return map[string]any{fieldMaxPeriod: period}, nil
}

// mergePatch applies a JSON merge patch (RFC 7386): objects merge by key, null
// removes, all else replaces.
func mergePatch(doc, patch map[string]any) {
	for key, value := range patch {
		object, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(doc, key)
		case isObject:
			old, ok := doc[key].(map[string]any)
			if !ok {
				old = map[string]any{}
			}
			mergePatch(old, object)
			doc[key] = old
		default:
			doc[key] = value
		}
	}
}
