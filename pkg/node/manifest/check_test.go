package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// everyVersion are those whose rules are known, and an unknown one.
func everyVersion() []string {
	versions := []string{""}
	for minor := oldest; minor <= newest; minor++ {
		versions = append(versions, fmt.Sprintf("1.%d.0", minor))
	}
	return versions
}

// What all kubelets refuse, and what the message says of it.
func TestWhatEveryKubeletRefuses(t *testing.T) {
	for text, reason := range map[string]string{
		mainOf("ports: [{containerPort: 70000}]"):                                                                                                    "spec.containers[0].ports[0].containerPort: 70000: must be between 1 and 65535",
		mainOf("ports: [{hostPort: 80}]"):                                                                                                            "containerPort: 0",
		mainOf("ports: [{containerPort: 80, hostPort: -1}]"):                                                                                         "hostPort: -1",
		mainOf("ports: [{containerPort: 80, protocol: tcp}]"):                                                                                        `protocol: "tcp": must be one of ["TCP" "UDP" "SCTP"]`,
		mainOf("ports: [{containerPort: 80, name: a_b}]"):                                                                                            "ports[0].name",
		mainOf("ports: [{containerPort: 1, name: a}, {containerPort: 2, name: a}]"):                                                                  "ports[1].name: \"a\": used twice",
		mainOf("ports: [{containerPort: 1, hostPort: 9}, {containerPort: 2, hostPort: 9}]"):                                                          "ports[1].hostPort: 9: used twice",
		podOf("hostNetwork: true, containers: [{name: a, image: i, ports: [{containerPort: 1000, hostPort: 2000}]}]"):                                "must be the containerPort, 1000, with hostNetwork",
		podOf("hostNetwork: true, containers: [{name: a, image: i, ports: [{containerPort: 1}]}, {name: b, image: i, ports: [{containerPort: 1}]}]"): "spec.containers[1].ports[0].hostPort: 1: used twice",
		mainOf("resources: {requests: {cpu: 2}, limits: {cpu: 1}}"):                                                                                  "resources.requests[cpu]: 2: more than the limit of 1",
		mainOf("resources: {limits: {memory: -1}}"):                                                                                                  "must not be negative",
		mainOf("resources: {limits: {gpu: 1}}"):                                                                                                      "not a resource of containers",
		mainOf("resources: {limits: {example.com/gpu: 500m}}"):                                                                                       "must be a whole number",
		mainOf("resources: {requests: {example.com/gpu: 1}}"):                                                                                        "the same limit is needed",
		mainOf("resizePolicy: [{resourceName: disk, restartPolicy: NotRequired}]"):                                                                   "resizePolicy[0].resourceName",
		mainOf("livenessProbe: {httpGet: {path: /}}"):                                                                                                "livenessProbe.httpGet.port",
		mainOf("livenessProbe: {periodSeconds: 3}"):                                                                                                  "livenessProbe: needs one handler, and has 0",
		mainOf("livenessProbe: {exec: {command: [a]}, tcpSocket: {port: 1}}"):                                                                        "needs one handler, and has 2",
		mainOf("livenessProbe: {exec: {}}"):                                                                                                          "exec.command: is needed",
		mainOf("livenessProbe: {tcpSocket: {port: a_b}}"):                                                                                            "tcpSocket.port: \"a_b\"",
		mainOf("livenessProbe: {grpc: {port: 0}}"):                                                                                                   "grpc.port: 0",
		mainOf("livenessProbe: {httpGet: {port: 1, scheme: https}}"):                                                                                 "httpGet.scheme",
		mainOf("livenessProbe: {httpGet: {port: 1, httpHeaders: [{name: a b, value: c}]}}"):                                                          "httpHeaders",
		mainOf("startupProbe: {exec: {command: [a]}, successThreshold: 2}"):                                                                          "startupProbe.successThreshold: 2: must be 1",
		mainOf("readinessProbe: {exec: {command: [a]}, timeoutSeconds: -1}"):                                                                         "readinessProbe.timeoutSeconds: -1: must not be negative",
		mainOf("readinessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 3}"):                                                           "not possible for a readiness probe",
		mainOf("livenessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 0}"):                                                            "must be greater than 0",
		mainOf("lifecycle: {preStop: {}}"):                                                                                                           "lifecycle.preStop: needs one handler",
		mainOf("lifecycle: {preStop: {sleep: {seconds: 31}}}"):                                                                                       "sleep.seconds: 31: must be between 0 and 30",
		podOf("containers: [{name: a, image: i}], initContainers: [{name: b, image: i, readinessProbe: {exec: {command: [c]}}}]"):                    "no probes and no lifecycle",
		mainOf("imagePullPolicy: Allways"):                                                                                                           `imagePullPolicy: "Allways": must be one of ["Always" "IfNotPresent" "Never"]`,
		mainOf("terminationMessagePolicy: Log"):                                                                                                      "terminationMessagePolicy",
		podOf("containers: [{name: a, image: ' i'}]"):                                                                                                "begins or ends with a space",
		podOf("containers: [{name: A, image: i}]"):                                                                                                   "spec.containers[0].name: \"A\"",
		mainOf("env: [{name: a=b, value: c}]"):                                                                                                       "env[0].name",
		mainOf("env: [{value: c}]"):                                                                                                                  "env[0].name: is needed",
		mainOf("env: [{name: A, value: c, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"):                                                      "not together with a value",
		mainOf("env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.nam}}}]"):                                                                 `"metadata.nam": must be one of`,
		mainOf("env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"spec['a']\"}}}]"):                                                                `"spec['a']": must be one of`,
		mainOf("env: [{name: A, valueFrom: {resourceFieldRef: {resource: cpu}}}]"):                                                                   "resourceFieldRef.resource",
		mainOf("env: [{name: A, valueFrom: {}}]"):                                                                                                    "needs one source",
		mainOf("envFrom: [{}]"):                                                                                                                      "needs either configMapRef or secretRef",
		mainOf("securityContext: {runAsUser: -1}"):                                                                                                   "runAsUser: -1",
		mainOf("securityContext: {privileged: true, allowPrivilegeEscalation: false}"):                                                               "not together with privileged",
		mainOf("securityContext: {procMount: Unmasked}"):                                                                                             "needs hostUsers: false",
		mainOf("securityContext: {seccompProfile: {type: Localhost}}"):                                                                               "belongs to type Localhost",
		volumeOf("volumeMounts: [{name: v, mountPath: /a, subPath: ../b}]"):                                                                          "subPath: \"../b\": must not contain ..",
		volumeOf("volumeMounts: [{name: v, mountPath: /a, subPath: /b}]"):                                                                            "must be relative",
		volumeOf("volumeMounts: [{name: v, mountPath: /a, mountPropagation: Bidirectional}]"):                                                        "for privileged containers only",
		specOf("volumes: [{name: v, hostPath: {}}]"):                                                                                                 "hostPath.path: is needed",
		specOf("volumes: [{name: v, hostPath: {path: /a/../b}}]"):                                                                                    "must not contain ..",
		specOf("volumes: [{name: v, hostPath: {path: /a, type: Dir}}]"):                                                                              "hostPath.type: \"Dir\": must be one of",
		specOf("volumes: [{name: v, hostPath: {path: /a}, emptyDir: {}}]"):                                                                           "more than one source: hostPath, emptyDir",
		specOf("volumes: [{name: v, emptyDir: {sizeLimit: -1}}]"):                                                                                    "sizeLimit",
		specOf("volumes: [{name: v, nfs: {server: s, path: p}}]"):                                                                                    "an absolute path are needed",
		specOf("volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]"):                                                     "needs spec.serviceAccountName",
		specOf("volumes: [{name: v, projected: {sources: [{clusterTrustBundle: {name: b, path: p}}]}}]"):                                             "a cluster trust bundle",
		specOf("dnsPolicy: Cluster"):                                                                                                                 "spec.dnsPolicy",
		specOf("dnsPolicy: None"):                                                                                                                    "spec.dnsConfig.nameservers: at least one",
		specOf("dnsConfig: {nameservers: [1.2.3]}"):                                                                                                  "not an IP address",
		specOf("tolerations: [{key: a, operator: In}]"):                                                                                              "tolerations[0].operator",
		specOf("tolerations: [{value: b}]"):                                                                                                          "must be Exists without a key",
		specOf("tolerations: [{key: a, operator: Exists, tolerationSeconds: 3}]"):                                                                    "must be NoExecute",
		specOf("hostAliases: [{ip: 1.2.3}]"):                                                                                                         "hostAliases[0].ip",
		specOf("activeDeadlineSeconds: 0"):                                                                                                           "spec.activeDeadlineSeconds: 0",
		specOf("hostPID: true, shareProcessNamespace: true"):                                                                                         "not together with hostPID",
		specOf("hostPID: true, hostUsers: false"):                                                                                                    "spec.hostUsers",
		specOf("hostname: a.b"):                                                                                                                      "spec.hostname",
		specOf("priorityClassName: A"):                                                                                                               "spec.priorityClassName",
		specOf("nodeSelector: {'a b': c}"):                                                                                                           "spec.nodeSelector",
		strings.Replace(mainOf(""), "{name: x}", "{name: x, labels: {a: 'b c'}}", 1):                                                                 "metadata.labels",
		strings.Replace(mainOf(""), "{name: x}", "{name: x, annotations: {'a b': c}}", 1):                                                            "metadata.annotations",
		strings.Replace(mainOf(""), "{name: x}", "{name: x_y}", 1):                                                                                   "metadata.name",
	} {
		for _, version := range everyVersion() {
			intent := read(t, readerFor(version), text)
			if len(intent.Problems) == 0 {
				t.Errorf("kubelet %q takes %s", version, text)
			} else if p := intent.Problems[0]; p.Kind != node.ProblemRefused || p.Pod.Namespace == "" || !strings.Contains(p.Message, reason) {
				t.Errorf("kubelet %q: %s of %s: %s, want %q\n%s", version, p.Kind, p.Pod, p.Message, reason, text)
			}
		}
	}
}

// What looks like a mistake, and every kubelet runs.
func TestWhatEveryKubeletRuns(t *testing.T) {
	for _, text := range []string{
		mainOf("ports: [{containerPort: 1, hostPort: 9}, {containerPort: 2, hostPort: 9, protocol: UDP}]"),
		mainOf("ports: [{containerPort: 1, hostPort: 9, hostIP: 10.0.0.1}, {containerPort: 2, hostPort: 9, hostIP: 10.0.0.2}]"),
		podOf("hostNetwork: true, containers: [{name: a, image: i, ports: [{containerPort: 1000}]}]"),
		podOf("containers: [{name: a, image: i, ports: [{containerPort: 1, hostPort: 1}]}], initContainers: [{name: b, image: i, ports: [{containerPort: 1, hostPort: 1}]}]"),
		podOf("containers: [{name: a, image: i}], initContainers: [{name: b, image: i, restartPolicy: Always, livenessProbe: {exec: {command: [c]}}}]"),
		mainOf("resources: {limits: {cpu: 1, example.com/gpu: 2, ephemeral-storage: 1Gi, hugepages-2Mi: 4Mi}}"),
		mainOf("livenessProbe: {httpGet: {port: http}, successThreshold: 0}"),
		mainOf("lifecycle: {preStop: {sleep: {seconds: 30}}, postStart: {tcpSocket: {port: 1}}}"),
		mainOf("env: [{name: A.b-c, value: d}, {name: H, valueFrom: {fieldRef: {fieldPath: spec.host}}}, {name: L, valueFrom: {fieldRef: {fieldPath: \"metadata.annotations['A/b']\"}}}]"),
		volumeOf("volumeMounts: [{name: v, mountPath: a:b, subPath: a..b}]"),
		specOf("tolerations: [{operator: Exists}, {key: a, value: b, effect: NoSchedule}]"),
		specOf("terminationGracePeriodSeconds: -5, priority: -7, priorityClassName: system-node-critical"),
		specOf("hostUsers: false, hostAliases: [{ip: 10.1.1.1}]"),
		podOf("containers: [{name: a, image: i, imagePullPolicy: ''}], affinity: {}, overhead: {}"),
		strings.Replace(mainOf(""), "{name: x}", "{name: x, annotations: {A/B: '{not: checked}'}}", 1),
	} {
		for _, version := range everyVersion() {
			if intent := read(t, readerFor(version), text); len(intent.Problems) > 0 || intent.Pods[0].Doubt != "" {
				t.Errorf("kubelet %q: problems %+v, doubt of %d pods\n%s", version, intent.Problems, len(intent.Pods), text)
			}
		}
	}
}
