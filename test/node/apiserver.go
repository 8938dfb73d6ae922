package node

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// AuditLog is the API server's, one JSON event (level Metadata) a line.
const AuditLog = "/var/log/kube-apiserver/audit.log"

// SecondAuditLog is that of OpenSecondAPI.
const SecondAuditLog = "/var/log/kube-apiserver/second.log"

// AdminKubeconfig is the file in the box that allows kubectl everything.
const AdminKubeconfig = "/etc/kubernetes/admin.conf"

func addAPIServer(t *tree) {
	t.add("/etc/kubernetes/audit.yaml", `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`)
	t.add("/var/log/kube-apiserver/.keep", "")
}

func apiServerCommand(etcd string, port int, auditLog string) []string {
	return []string{
		"/usr/local/bin/kube-apiserver",
		"--etcd-servers=" + etcd,
		"--bind-address=127.0.0.1",
		"--advertise-address=" + nodeIP,
		"--secure-port=" + strconv.Itoa(port),
		"--endpoint-reconciler-type=none",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--client-ca-file=" + pkiDir + "/ca.crt",
		"--tls-cert-file=" + pkiDir + "/apiserver.crt",
		"--tls-private-key-file=" + pkiDir + "/apiserver.key",
		"--kubelet-client-certificate=" + KubeletClientCertificate,
		"--kubelet-client-key=" + KubeletClientKey,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + pkiDir + "/serviceaccount.key",
		"--service-account-signing-key-file=" + pkiDir + "/serviceaccount.key",
		"--service-cluster-ip-range=203.0.113.0/24",
		"--audit-policy-file=/etc/kubernetes/audit.yaml",
		"--audit-log-path=" + auditLog,
	}
}

// OpenAPI starts the API server on the port that the kubelet's kubeconfig
// names, and waits until it is ready. It needs Options.API.
func (b *Box) OpenAPI(ctx context.Context) error {
	if b.options.Kubeconfig == Standalone || !b.options.API {
		return fmt.Errorf("open the API of box %s: it was started without Options.API and a kubeconfig", b.Name)
	}
	if _, err := b.Systemctl(ctx, "start", API); err != nil {
		return fmt.Errorf("open the API of box %s: %w", b.Name, err)
	}
	return b.apiReady(ctx, APIURL)
}

// OpenSecondAPI starts another API server on a port of its own and waits until
// it is ready. It reaches etcd by the given URL, so that what it knows can be
// held back. It ends with the box.
func (b *Box) OpenSecondAPI(ctx context.Context, port int, etcd string) error {
	text := apiServerUnit(etcd, port, SecondAuditLog)
	if err := b.WriteFile("/etc/systemd/system/"+secondAPI, []byte(text), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"daemon-reload"}, {"start", secondAPI}} {
		if _, err := b.Systemctl(ctx, args...); err != nil {
			return fmt.Errorf("open a second API of box %s: %w", b.Name, err)
		}
	}
	return b.apiReady(ctx, "https://127.0.0.1:"+strconv.Itoa(port))
}

func (b *Box) apiReady(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	client := b.APIClient()
	return poll(ctx, "the API server to be ready", func() error {
		status, body, err := get(ctx, client, address+"/readyz")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d: %s", status, body)
		}
		return err
	})
}

// CloseAPI ends the API server and etcd; the data stays for the next OpenAPI.
func (b *Box) CloseAPI(ctx context.Context) error {
	_, err := b.Systemctl(ctx, "stop", API, Etcd)
	return err
}
