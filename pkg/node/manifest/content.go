package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// contentOf is the digest of a pod as its file describes it, before the name
// suffix and with defaults applied: to the kubelet, what a file spells out and
// what it leaves to a default is the same. It does not depend on whose rules
// hold, so that it does not change while the file does not.
//
// The kubelet tells a little more apart: spellings of one quantity ("1000m"),
// and a list that is empty from one that is not there.
func contentOf(pod *corev1.Pod) string {
	bare := *pod
	bare.TypeMeta = metav1.TypeMeta{}
	text, err := json.Marshal(&bare)
	if err != nil {
		return "" // not possible of what was decoded from JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
