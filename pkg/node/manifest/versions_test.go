package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// What the kubelets of 1.30 to 1.37 make of a manifest, without gates that are
// set: R for refused, A for taken. It was recorded from the file sources of
// 1.30.14, 1.31.14, 1.32.13, 1.33.13, 1.34.4, 1.35.4, 1.36.3 and 1.37.2.
var byVersion = map[string]string{
	specOf("serviceAccountName: s"):                                       "AAAARRRR",
	specOf("serviceAccount: s"):                                           "AAAARRRR",
	specOf("imagePullSecrets: [{name: s}]"):                               "AAAARRRR",
	specOf("volumes: [{name: v, configMap: {name: m}}]"):                  "AAAARRRR",
	specOf("volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]"): "AAAARRRR",
	specOf("volumes: [{name: v, projected: {sources: [{}]}}]"):            "AAAARRRR",
	specOf("serviceAccountName: s, volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]"): "AAAARRRR",
	mainOf("envFrom: [{secretRef: {name: s}}]"):                                                                                                              "AAAARRRR",
	mainOf("env: [{name: A, valueFrom: {configMapKeyRef: {name: m, key: k}}}]"):                                                                              "AAAARRRR",
	specOf("resourceClaims: [{name: c, resourceClaimName: c, source: {resourceClaimName: c}}]"):                                                              "AARRRRRR",
	mainOf("restartPolicy: Never"):                                                                                                                           "RRRRRAAA",
	mainOf("restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]"):                                         "RRRRRAAA",
	mainOf("restartPolicy: Never, restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]"):                            "RRRRRRAA",
	mainOf("restartPolicy: Never, restartPolicyRules: [{action: Restart}]"):                                                                                  "RRRRRRRR",
	mainOf("restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]"):                                                               "AAAAARRR",
	specOf("initContainers: [{name: i, image: i, restartPolicy: Never}]"):                                                                                    "RRRRRAAA",
	specOf("initContainers: [{name: i, image: i, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]}]"):                        "AAAAARRR",
	specOf("initContainers: [{name: i, image: i, restartPolicy: Always, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]}]"): "AAAAARAA",
	specOf("initContainers: [{name: i, image: i, restartPolicy: Always, resizePolicy: [{resourceName: cpu, restartPolicy: NotRequired}]}]"):                  "RRRRRAAA",
	specOf("initContainers: [{name: i, image: i, resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]}]"):                                    "RRRRRARR",
	mainOf("lifecycle: {preStop: {sleep: {seconds: 0}}}"):                                                                                                    "RRRRRAAA",
	mainOf("lifecycle: {stopSignal: SIGTERM}"):                                                                                                               "AAARRRRR",
	mainOf("env: [{name: 'a b', value: c}]"):                                                                                                                 "RRRRRAAA",
	mainOf("env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.hostIPs}}}]"):                                                                           "RRAAAAAA",
	volumeOf("env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: K}}}]"):                                                                  "RRRRAAAA",
	volumeOf("env: [{name: A, value: a, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: K}}}]"):                                                        "RRRRRRRR",
	specOf("dnsConfig: {searches: [_a.b]}"):                                                                                                                  "RRRRRAAA",
	specOf("dnsConfig: {searches: [.]}"):                                                                                                                     "RRRRRAAA",
	specOf("hostNetwork: true, hostUsers: false"):                                                                                                            "RRRRRRRR",
	specOf("tolerations: [{key: a, operator: Gt, value: '1'}]"):                                                                                              "RRRRRRRR",
	specOf("volumes: [{name: v, image: {reference: a}}]"):                                                                                                    "ARRRRAAA",
	specOf("volumes: [{name: v, image: {reference: a, pullPolicy: Always}}]"):                                                                                "ARAAAAAA",
	specOf("volumes: [{name: v, image: {reference: a, pullPolicy: Often}}]"):                                                                                 "ARRRRRRR",
	specOf("volumes: [{name: v, hostPath: {path: /a}, image: {reference: a}}]"):                                                                              "AARRRRRR",
}

func TestRulesByVersion(t *testing.T) {
	for text, verdicts := range byVersion {
		unknown := read(t, NewReader(), text)
		switch agreed := strings.Count(verdicts, verdicts[:1]) == len(verdicts); {
		case !agreed && len(unknown.Problems) > 0:
			t.Errorf("refused without a version: %s\n%s", unknown.Problems[0].Message, text)
		case !agreed && unknown.Pods[0].Doubt == "":
			t.Errorf("no doubt without a version\n%s", text)
		}
		for i, verdict := range verdicts {
			version := fmt.Sprintf("1.%d.1", oldest+i)
			intent := read(t, readerFor(version), text)
			switch {
			case verdict == 'A' && (len(intent.Pods) == 0 || intent.Pods[0].Doubt != ""):
				t.Errorf("kubelet %s takes it: %d pods, problems %+v\n%s", version, len(intent.Pods), intent.Problems, text)
			case verdict == 'R' && (len(intent.Problems) == 0 || intent.Problems[0].Kind != node.ProblemRefused):
				t.Errorf("kubelet %s refuses it: %d pods, problems %+v\n%s", version, len(intent.Pods), intent.Problems, text)
			}
		}
	}
}
