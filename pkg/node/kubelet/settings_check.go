package kubelet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What the kubelet accepts for crashLoopBackOff.maxContainerRestartPeriod.
// Mirrors kubelet pkg/kubelet/apis/config/validation/validation.go, v1.37.
const (
	minRestartPeriod = time.Second
	maxRestartPeriod = 300 * time.Second
)

func checkString(value any) (any, error) {
	if _, ok := value.(string); !ok {
		return nil, errors.New("must be a string")
	}
	return value, nil
}

func checkCgroupDriver(value any) (any, error) {
	switch value {
	case "", "systemd", "cgroupfs":
		return value, nil
	}
	return nil, errors.New("must be systemd or cgroupfs")
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
