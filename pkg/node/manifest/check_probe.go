package manifest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
)

// hooks checks probes and lifecycle of a container that may have them. Mirrors
// validateLifecycle, validateLivenessProbe, validateReadinessProbe and
// validateStartupProbe.
func (c *check) hooks(at string, ctr *corev1.Container, spec *corev1.PodSpec) {
	c.probe(at+".livenessProbe", ctr.LivenessProbe, true)
	c.probe(at+".startupProbe", ctr.StartupProbe, true)
	c.probe(at+".readinessProbe", ctr.ReadinessProbe, false)
	if p := ctr.ReadinessProbe; p != nil {
		c.must(p.TerminationGracePeriodSeconds == nil, at+".readinessProbe.terminationGracePeriodSeconds", "not possible for a readiness probe")
	}
	if ctr.Lifecycle == nil {
		return
	}
	grace := *spec.TerminationGracePeriodSeconds
	c.lifecycleHandler(at+".lifecycle.postStart", ctr.Lifecycle.PostStart, grace)
	c.lifecycleHandler(at+".lifecycle.preStop", ctr.Lifecycle.PreStop, grace)
	if ctr.Lifecycle.StopSignal != nil && spec.OS == nil {
		c.forbids(from(33), at+".lifecycle.stopSignal", "needs spec.os.name")
	}
}

// probe mirrors validateProbe.
func (c *check) probe(at string, p *corev1.Probe, once bool) {
	if p == nil {
		return
	}
	c.handler(at, corev1.LifecycleHandler{Exec: p.Exec, HTTPGet: p.HTTPGet, TCPSocket: p.TCPSocket}, p.GRPC, 0)
	for _, number := range []struct {
		field string
		value int32
	}{
		{"initialDelaySeconds", p.InitialDelaySeconds}, {"timeoutSeconds", p.TimeoutSeconds}, {"periodSeconds", p.PeriodSeconds},
		{"successThreshold", p.SuccessThreshold}, {"failureThreshold", p.FailureThreshold},
	} {
		c.must(number.value >= 0, at+"."+number.field, "%d: must not be negative", number.value)
	}
	c.must(!once || p.SuccessThreshold == 1, at+".successThreshold", "%d: must be 1", p.SuccessThreshold)
	c.must(ptr.Deref(p.TerminationGracePeriodSeconds, 1) > 0, at+".terminationGracePeriodSeconds", "must be greater than 0")
}

func (c *check) lifecycleHandler(at string, h *corev1.LifecycleHandler, grace int64) {
	if h != nil {
		c.handler(at, *h, nil, grace)
	}
}

// handler mirrors validateHandler, validateExecAction, validateHTTPGetAction,
// validateTCPSocketAction, validateGRPCAction and validateSleepAction.
func (c *check) handler(at string, h corev1.LifecycleHandler, grpc *corev1.GRPCAction, grace int64) {
	handlers := 0
	if h.Exec != nil {
		handlers++
		c.must(len(h.Exec.Command) > 0, at+".exec.command", "is needed")
	}
	if h.HTTPGet != nil {
		handlers++
		c.port(at+".httpGet.port", h.HTTPGet.Port)
		oneOf(c, at+".httpGet.scheme", h.HTTPGet.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
		for _, header := range h.HTTPGet.HTTPHeaders {
			c.follows(at+".httpGet.httpHeaders", header.Name, validation.IsHTTPHeaderName)
		}
	}
	if h.TCPSocket != nil {
		handlers++
		c.port(at+".tcpSocket.port", h.TCPSocket.Port)
	}
	if grpc != nil {
		handlers++
		c.within(at+".grpc.port", int64(grpc.Port), 1, 65535)
	}
	if h.Sleep != nil {
		handlers++
		c.within(at+".sleep.seconds", h.Sleep.Seconds, 0, grace)
		if h.Sleep.Seconds == 0 {
			c.needs(sleepZero, at+".sleep.seconds", "0: must be greater than 0")
		}
	}
	c.must(handlers == 1, at, "needs one handler, and has %d", handlers)
}

// port mirrors ValidatePortNumOrName.
func (c *check) port(at string, port intstr.IntOrString) {
	if port.Type == intstr.Int {
		c.must(len(validation.IsValidPortNum(port.IntValue())) == 0, at, "%d: must be between 1 and 65535", port.IntValue())
		return
	}
	c.follows(at, port.StrVal, validation.IsValidPortName)
}
