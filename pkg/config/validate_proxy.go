package config

import (
	"fmt"
	"time"
)

func (c *check) proxy(p Proxy) {
	c.loopback("proxy.listen", p.Listen, "127.0.0.1:6444")
	c.absolute("proxy.kubeconfig", p.Kubeconfig)
	c.absolute("proxy.derived", p.Derived)
	if p.Derived == p.Kubeconfig && p.Derived != "" {
		c.add("proxy.derived", "must not be proxy.kubeconfig: the kubelet's own is never written")
	}
	c.absolute("proxy.certificates", p.Certificates)
	c.between("proxy.previousCertificate", p.PreviousCertificate, 0, day)
	c.absolute("proxy.killSwitch", p.KillSwitch)
	c.between("proxy.grace", p.Grace, 0, 10*time.Minute)
	c.between("proxy.linger", p.Linger, time.Minute, day)
	// The kubelet waits for one second.
	c.between("proxy.firstRead", p.FirstRead, 50*time.Millisecond, 950*time.Millisecond)
	c.rate("proxy.lists", Rate{PerSecond: p.Lists.PerSecond, Burst: p.Lists.Burst})
	c.count("proxy.lists.credit", p.Lists.Credit, 0, 100000)
	c.rate("proxy.watches", p.Watches)
	for i, name := range p.Sentinels {
		if !nodeName.MatchString(name) || len(name) > 253 {
			c.add(fmt.Sprintf("proxy.sentinels[%d]", i), "must be the name of a ConfigMap, not %q", name)
		}
	}
	c.between("proxy.revalidate", p.Revalidate, time.Minute, day)
	c.count("proxy.maxStreams", p.MaxStreams, 1, 100000)
	c.count("proxy.maxObjects", p.MaxObjects, 1, 1000000)
	c.size("proxy.maxBytes", p.MaxBytes, 1<<20, 1<<40)
	c.size("proxy.maxObjectBytes", p.MaxObjectBytes, 1<<10, 16<<20)
}

func (c *check) rate(field string, r Rate) {
	c.count(field+".perSecond", r.PerSecond, 1, 10000)
	c.count(field+".burst", r.Burst, 1, 10000)
}
