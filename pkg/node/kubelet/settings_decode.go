package kubelet

import (
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"
)

// The file is decoded by hand and not into KubeletConfiguration of
// k8s.io/kubelet/config/v1beta1: that package drags in component-base's
// logging and tracing for four fields, and would fail on the whole file where
// a single field is bad.

// The fields that are read, by their JSON names.
const (
	fieldStaticPodPath = "staticPodPath"
	fieldCgroupDriver  = "cgroupDriver"
	fieldFeatureGates  = "featureGates"
	fieldCrashLoop     = "crashLoopBackOff"
	fieldMaxPeriod     = "maxContainerRestartPeriod"
)

// settingsFields are the fields with a check each, which returns the part of
// the value that is good, or nil. null is good in all of them: it means the
// default, and in a drop-in it removes what the files before it said.
var settingsFields = []struct {
	name  string
	check func(any) (any, error)
}{
	{fieldStaticPodPath, checkString},
	{fieldCgroupDriver, checkCgroupDriver},
	{fieldFeatureGates, checkFeatureGates},
	{fieldCrashLoop, checkCrashLoop},
}

var errNotConfiguration = errors.New("not a KubeletConfiguration of kubelet.config.k8s.io/v1beta1")

// decodeSettings parses one file, YAML or JSON, down to the fields that are
// good. The error is one line that names the bad ones.
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
	for _, field := range settingsFields {
		value, given := doc[field.name]
		if !given {
			continue
		}
		if value != nil {
			var err error
			if value, err = field.check(value); err != nil {
				bad = append(bad, fmt.Errorf("%s: %w", field.name, err))
			}
			if value == nil {
				continue
			}
		}
		good[field.name] = value
	}
	return good, oneError(bad...)
}
