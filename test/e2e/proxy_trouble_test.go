package e2e

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
)

// trouble is what happens to a node whose kubelet goes through the guard.
type trouble struct {
	labels []string
	// options of the box, beside viaProxy's.
	options func(*node.Options)
	// before is called before the guard is installed.
	before func(*scene)
	// settings of the proxy.
	settings []string
	happen   func(*scene)
	// outage is how long nobody reaches the API server.
	outage time.Duration
	// after is called when the pods run again.
	after func(*scene)
}

// A guard that dies, hangs or is switched off, and an API server that does: the
// lease is renewed all the same, pods come and go, changes arrive, nothing wrong
// is ever mounted, and afterwards there is quiet.
func TestProxyInTrouble(t *testing.T) {
	t.Parallel() // each case has labels of its own
	for name, c := range map[string]trouble{
		"killed every 5 s for 2 min": {happen: func(s *scene) {
			for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Second) {
				_ = s.box.SignalUnit(s.ctx, node.Proxy, syscall.SIGKILL)
			}
		}},
		"stopped by SIGSTOP, twice": {happen: func(s *scene) {
			for range 2 {
				_ = s.box.SignalUnit(s.ctx, node.Proxy, syscall.SIGSTOP)
				time.Sleep(30 * time.Second)
			}
		}},
		"kill switch thrown and taken back": {happen: func(s *scene) {
			s.must(s.box.WriteFile("/etc/nodekeeper/proxy.off", nil, 0o644), "throw the switch")
			time.Sleep(20 * time.Second)
			s.must(s.box.RemoveFile("/etc/nodekeeper/proxy.off"), "take it back")
		}},
		"program gone": {happen: func(s *scene) {
			_, _, err := s.box.Exec(s.ctx, "sh", "-c", "mv /usr/local/bin/nodekeeper /usr/local/bin/nodekeeper.away && cp /bin/false /usr/local/bin/nodekeeper")
			s.must(err, "break the program")
			_ = s.box.SignalUnit(s.ctx, node.Proxy, syscall.SIGKILL)
			time.Sleep(10 * time.Second)
			_, _, err = s.box.Exec(s.ctx, "mv", "/usr/local/bin/nodekeeper.away", "/usr/local/bin/nodekeeper")
			s.must(err, "mend the program")
		}},
		"out of memory": {labels: []string{slow}, happen: outOfMemory},
		"API server restarted": {happen: func(s *scene) {
			_, err := s.box.Systemctl(s.ctx, "restart", node.API)
			s.must(err, "restart the API server")
		}},
		"certificate rotated": {
			options: func(o *node.Options) {
				configure := o.KubeletConfig
				o.KubeletConfig = func(config map[string]any) {
					configure(config)
					config["rotateCertificates"] = true
				}
			},
			before:   func(s *scene) { s.must(s.box.StoreCertificate(), "store a certificate") },
			settings: []string{"certificates: " + node.KubeletStore},
			happen:   rotate,
		},
		"two API servers of which one lags":   twoServers(),
		"connections half open":               halfOpen(),
		"network gone for 40 s":               networkGone(40 * time.Second),
		"429 to all but heartbeats for 1 min": {labels: []string{slow}, happen: refuseAll},
	} {
		t.Run(name, func(t *testing.T) { c.run(t) })
	}
}

func (c trouble) run(t *testing.T) {
	labelled(t, append(c.labels, guard, disruptive)...)
	options := viaProxy()
	// The kubelet looks for changes in what is mounted once a minute otherwise.
	options.KubeletConfig = func(config map[string]any) { config["syncFrequency"] = "5s" }
	if c.options != nil {
		c.options(&options)
	}
	s := stage(t, options)
	if c.before != nil {
		c.before(s)
	}
	s.guarded(true, c.settings...)
	before := workload{namespace: "before", pods: 5, immutableSecrets: 4, configMap: 2}
	s.apply(before)
	flow := s.flow(before)
	began := time.Now()
	c.happen(s)
	s.say("trouble over")
	flow.end()
	s.apply(workload{namespace: "after", pods: 5, immutableSecrets: 4, configMap: 2})
	s.must(s.patch("/api/v1/namespaces/before/configmaps/cm-0-0", `{"data":{"value":"changed"}}`), "change a ConfigMap")
	s.changed(3*time.Minute, "cm-0-0", "changed")
	if c.after != nil {
		c.after(s)
	}
	const calm = 15 * time.Second
	s.throughout(calm, "a while more", func() error { return nil })

	requests := s.audit()
	gap := leaseGap(requests, began)
	objects := onObjects(since(requests, time.Since(began)))
	late := len(since(objects, calm))
	s.say("longest gap between two renewals of the lease: %v; of %d requests for Secrets and ConfigMaps most in one second %d, refused with 429 %d, in the last %v %d",
		gap.Round(100*time.Millisecond), len(objects), peak(objects), len(refused(objects)), calm, late)
	if limit := 35*time.Second + c.outage; gap > limit {
		t.Errorf("lease not renewed for %v, want at most %v", gap, limit)
	}
	// A WATCH for each of the last pods' ConfigMaps is due in that time.
	if late > 30 {
		t.Errorf("%d requests for Secrets and ConfigMaps in the last %v: it has not settled", late, calm)
	}
	journal, err := s.box.Journal(s.ctx, node.Kubelet)
	s.must(err, "journal")
	if strings.Contains(journal, "node not ready") {
		t.Error("the kubelet was not ready")
	}
}

// shortOfMemory is a drop-in of the proxy's unit. Systemd does not bound memory
// where control groups are of version 1 and boxes have a tree of their own, so
// that the process goes into a group by itself there, which the unit's hardening
// would not let it.
const shortOfMemory = `[Service]
MemoryMax=%[1]d
ProtectControlGroups=no
ProtectKernelTunables=no
ExecStart=
ExecStart=/bin/sh -c 'group=/sys/fs/cgroup/memory/short; [ ! -d /sys/fs/cgroup/memory ] || { mkdir -p $group && echo %[1]d > $group/memory.limit_in_bytes && echo $$$$ > $group/cgroup.procs; } && exec /usr/local/bin/nodekeeper proxy'
`

// outOfMemory has the kernel kill the proxy for its memory again and again.
func outOfMemory(s *scene) {
	const dropIn = "/run/systemd/system/nodekeeper-proxy.service.d/memory.conf"
	limit := s.anonymous(node.Proxy) * 3 / 4
	s.say("the proxy may use %.1f MiB from now on", float64(limit)/(1<<20))
	s.must(s.box.WriteFile(dropIn, fmt.Appendf(nil, shortOfMemory, limit), 0o644), "bound the memory")
	_, err := s.box.Systemctl(s.ctx, "daemon-reload")
	s.must(err, "bound the memory")
	_ = s.box.SignalUnit(s.ctx, node.Proxy, syscall.SIGKILL)
	time.Sleep(time.Minute)
	s.must(s.box.RemoveFile(dropIn), "free the memory")
	_, err = s.box.Systemctl(s.ctx, "daemon-reload")
	s.must(err, "free the memory")
	journal, err := s.box.Journal(s.ctx, node.Proxy)
	s.must(err, "read the journal")
	died := strings.Count(journal, "status=9/KILL") - 1
	s.say("the kernel killed the proxy for its memory %d times; it is %s", died, s.state(node.Proxy))
	if died < 3 {
		s.Errorf("the proxy was not short of memory")
	}
}

// anonymous is the memory of a unit's main process that is no file's, in bytes.
func (s *scene) anonymous(unit string) int {
	s.Helper()
	out, _, err := s.box.Exec(s.ctx, "sh", "-c", "awk '/^RssAnon/ {print $2}' /proc/$(systemctl show --value --property=MainPID "+unit+")/status")
	s.must(err, "look at the memory of "+unit)
	kib, err := strconv.Atoi(strings.TrimSpace(out))
	s.must(err, "look at the memory of "+unit)
	return kib << 10
}

// state is a unit's, as systemd has it.
func (s *scene) state(unit string) string {
	out, err := s.box.UnitProperty(s.ctx, unit, "ActiveState")
	s.must(err, "look at "+unit)
	return out
}

// rotate signs the certificate that the kubelet has asked for.
func rotate(s *scene) {
	old := s.certificate()
	var name, request string
	s.eventually(time.Minute, "the kubelet asks for a certificate", func() bool {
		name, request = s.certificateRequest()
		return name != ""
	})
	_, err := s.kubectl("certificate", "approve", name)
	s.must(err, "approve the request")
	asked, err := base64.StdEncoding.DecodeString(request)
	s.must(err, "read the request")
	signed, err := s.box.SignRequest(asked)
	s.must(err, "sign the request")
	s.must(s.patch("/apis/certificates.k8s.io/v1/certificatesigningrequests/"+name+"/status",
		fmt.Sprintf(`{"status":{"certificate":%q}}`, base64.StdEncoding.EncodeToString(signed))), "give the certificate")
	s.eventually(time.Minute, "the kubelet has changed its certificate", func() bool {
		return string(s.certificate()) != string(old)
	})
	now := s.certificate()
	id := credentialOf(s, now)
	for what, agent := range map[string]string{"kubelet": "kubelet/", "proxy": "nodekeeper-proxy/"} {
		s.eventually(90*time.Second, "the "+what+" uses the new certificate at the API server", func() bool {
			requests := s.audit()
			for _, h := range requests[max(0, len(requests)-50):] {
				if strings.HasPrefix(h.UserAgent, agent) && slices.Contains(h.User.Extra["authentication.kubernetes.io/credential-id"], id) {
					return true
				}
			}
			return false
		})
	}
	if err := s.asks(now); err != nil {
		s.Errorf("the new certificate is not served: %v", err)
	}
	superseded := func() bool { return s.asks(old) != nil }
	if !superseded() {
		s.Errorf("the previous certificate is served after the kubelet has used the new one")
	}
	// A proxy that has just started does not know that, and must not lock out a
	// kubelet that is slower than its store.
	s.must(s.box.SignalUnit(s.ctx, node.Kubelet, syscall.SIGSTOP), "stop the kubelet")
	s.must(s.box.SignalUnit(s.ctx, node.Proxy, syscall.SIGKILL), "kill the proxy")
	s.eventually(10*time.Second, "the previous certificate is served again", func() bool { return !superseded() })
	s.must(s.box.SignalUnit(s.ctx, node.Kubelet, syscall.SIGCONT), "let the kubelet go on")
	s.eventually(30*time.Second, "the kubelet has come with the new one, and the previous is refused", superseded)
}

// credentialOf is the name that the audit log has for a certificate.
func credentialOf(s *scene, certificate []byte) string {
	s.Helper()
	block, _ := pem.Decode(certificate)
	if block == nil {
		s.Fatal("no certificate")
	}
	return fmt.Sprintf("X509SHA256=%x", sha256.Sum256(block.Bytes))
}

// asks asks the API server for its version through the guard's port, with a
// certificate and its key.
func (s *scene) asks(certificateAndKey []byte) error {
	s.Helper()
	pair, err := tls.X509KeyPair(certificateAndKey, certificateAndKey)
	s.must(err, "read a certificate")
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DialContext: s.box.Dial, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true},
	}}
	response, err := client.Get("https://127.0.0.1:6444/version")
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// twoServers are behind one address; what the second knows is a second old.
func twoServers() trouble {
	var network, etcd *relay
	return trouble{
		labels: []string{slow},
		before: func(s *scene) {
			etcd = s.relay("127.0.0.1:2479", "127.0.0.1:2379")
			s.must(s.box.OpenSecondAPI(s.ctx, 6445, "http://127.0.0.1:2479"), "start another API server")
			etcd.late(time.Second)
			network = s.relay("127.0.0.1:7443", "127.0.0.1:6443", "127.0.0.1:6445")
			s.must(s.box.SetAPIAddress("127.0.0.1:7443"), "lead the kubelet to both")
		},
		happen: func(s *scene) {
			for range 8 {
				time.Sleep(8 * time.Second)
				network.cut() // the next connection leads to the other
			}
			etcd.late(0)
		},
	}
}

// halfOpen has the connections to the API server go dead without a word, twice;
// new ones work.
func halfOpen() trouble {
	var network *relay
	return trouble{
		before: func(s *scene) {
			network = s.relay("127.0.0.1:7443", "127.0.0.1:6443")
			s.must(s.box.SetAPIAddress("127.0.0.1:7443"), "lead the kubelet through a network")
		},
		happen: func(s *scene) {
			for range 2 {
				network.strand()
				time.Sleep(30 * time.Second)
			}
		},
	}
}

// networkGone drops what goes to the API server and what comes from it.
func networkGone(span time.Duration) trouble {
	firewall := func(s *scene, do string) {
		for _, way := range []string{"--dport", "--sport"} {
			_, _, err := s.box.Exec(s.ctx, "iptables", "--wait", do, "INPUT", "--protocol", "tcp", way, "6443", "--jump", "DROP")
			s.must(err, "change the firewall")
		}
	}
	return trouble{labels: []string{slow}, outage: span, happen: func(s *scene) {
		firewall(s, "--insert")
		time.Sleep(span)
		firewall(s, "--delete")
	}}
}

// reject has the API server answer 429 to all of a node's requests but those
// for its own Node and lease, which have a level of their own
// (system-node-high).
const reject = `apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: nothing}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: nodes-get-nothing}
spec:
  matchingPrecedence: 450
  priorityLevelConfiguration: {name: nothing}
  rules:
  - subjects: [{kind: Group, group: {name: "system:nodes"}}]
    resourceRules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"], namespaces: ["*"], clusterScope: true}]
`

// refuseAll has all WATCHes begin anew while they are refused.
func refuseAll(s *scene) {
	const flows = "/apis/flowcontrol.apiserver.k8s.io/v1/"
	level, schema, _ := strings.Cut(reject, "---\n")
	s.must(s.create(object{flows + "prioritylevelconfigurations", level}), "make a priority level")
	s.must(s.create(object{flows + "flowschemas", schema}), "make a flow schema")
	s.eventually(30*time.Second, "requests are refused with 429", func() bool { return len(refused(s.audit())) > 0 })
	_, err := s.box.Systemctl(s.ctx, "restart", node.API)
	s.must(err, "restart the API server")
	time.Sleep(time.Minute)
	s.must(s.remove(flows+"flowschemas/nodes-get-nothing"), "end it")
	s.say("%d requests of the node were refused with 429, most in one second %d", len(refused(s.audit())), peak(refused(s.audit())))
}

// certificate is what the kubelet's store has, with its key.
func (s *scene) certificate() []byte {
	s.Helper()
	out, _, err := s.box.Exec(s.ctx, "cat", node.KubeletStoreCurrent)
	s.must(err, "read the kubelet's certificate")
	return []byte(out)
}

// certificateRequest is the kubelet's newest, and its content in base64: a
// kubelet that was told to rotate asks once at each start.
func (s *scene) certificateRequest() (name, request string) {
	status, answer, err := s.call(http.MethodGet, "/apis/certificates.k8s.io/v1/certificatesigningrequests", "", "")
	var list struct {
		Items []struct {
			Metadata struct {
				Name              string
				CreationTimestamp time.Time
			}
			Spec struct{ Request string }
		}
	}
	if err != nil || status != http.StatusOK || json.Unmarshal(answer, &list) != nil || len(list.Items) == 0 {
		return "", ""
	}
	newest := list.Items[0]
	for _, i := range list.Items {
		if i.Metadata.CreationTimestamp.After(newest.Metadata.CreationTimestamp) {
			newest = i
		}
	}
	return newest.Metadata.Name, newest.Spec.Request
}

// onObjects are the requests for Secrets and ConfigMaps.
func onObjects(requests []heard) []heard {
	var out []heard
	for _, h := range requests {
		if h.ObjectRef.Resource == "secrets" || h.ObjectRef.Resource == "configmaps" {
			out = append(out, h)
		}
	}
	return out
}

// peak is the number of requests in the busiest second.
func peak(requests []heard) int {
	count := map[int64]int{}
	most := 0
	for _, h := range requests {
		at := h.RequestReceivedTimestamp.Unix()
		count[at]++
		most = max(most, count[at])
	}
	return most
}

// refused are the requests that were answered with 429.
func refused(requests []heard) []heard {
	var out []heard
	for _, h := range requests {
		if h.ResponseStatus.Code == http.StatusTooManyRequests {
			out = append(out, h)
		}
	}
	return out
}

// since are the requests of the last span of time.
func since(requests []heard, span time.Duration) []heard {
	var out []heard
	for _, h := range requests {
		if time.Since(h.RequestReceivedTimestamp) < span {
			out = append(out, h)
		}
	}
	return out
}
