package promote

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// gardenerLabel marks what Gardener's MakeUnique has named.
const gardenerLabel = "resources.gardener.cloud/garbage-collectable-reference"

const (
	kustomizeHash = 10
	gardenerHash  = 8
)

// consonants is how kubectl and kustomize write a hexadecimal digest, without
// letters that could make words: kustomize api/hasher/hasher.go encode, v0.21.
var consonants = strings.NewReplacer("0", "g", "1", "h", "3", "k", "a", "m", "e", "t")

// mayHaveNameHash tells from the name alone whether to read the content.
func mayHaveNameHash(meta metav1.ObjectMeta) bool {
	i := strings.LastIndexByte(meta.Name, '-')
	if i <= 0 {
		return false
	}
	suffix := meta.Name[i+1:]
	if len(suffix) == kustomizeHash && strings.Trim(suffix, "2456789bcdfghkmt") == "" {
		return true
	}
	return meta.Labels[gardenerLabel] == "true" && len(suffix) == gardenerHash && strings.Trim(suffix, "0123456789abcdef") == ""
}

// nameHash is the program that made the name of the content, recomputed; empty if
// none did.
func nameHash(o Object) string {
	if !mayHaveNameHash(o.Meta) {
		return ""
	}
	i := strings.LastIndexByte(o.Meta.Name, '-')
	name, suffix := o.Meta.Name[:i], o.Meta.Name[i+1:]
	if len(suffix) == gardenerHash {
		if gardenerSum(*o.Content) == suffix {
			return "Gardener"
		}
		return ""
	}
	for _, encoding := range encodings(o.Resource, name, *o.Content) {
		text, err := json.Marshal(encoding)
		if err != nil {
			continue
		}
		sum := sha256.Sum256(text)
		if consonants.Replace(hex.EncodeToString(sum[:])[:kustomizeHash]) == suffix {
			return "kustomize"
		}
	}
	return ""
}

// encodings are the ways in which kustomize (api/hasher/hasher.go encodeConfigMap
// and encodeSecret, v0.21) and kubectl (pkg/util/hash/hash.go, v1.37) write the
// object that they hash. The API server keeps no trace of which it was: whether
// the name counted (kustomize looks it up where it is not, so that it is empty),
// whether base64 had line breaks, whether absent data was "", null or {}, whether
// a Secret's type or stringData was spelt out.
func encodings(resource Resource, name string, c Content) []map[string]any {
	var out []map[string]any
	add := func(fields map[string]any) {
		for _, n := range []string{"", name} {
			m := maps.Clone(fields)
			m["name"] = n
			out = append(out, m)
		}
	}
	if resource == ConfigMaps {
		for _, data := range forms(c.Text, len(c.Text)) {
			if len(c.Binary) == 0 {
				add(map[string]any{"kind": "ConfigMap", "data": data})
				continue
			}
			for _, binary := range base64s(c.Binary) {
				add(map[string]any{"kind": "ConfigMap", "data": data, "binaryData": binary})
			}
		}
		return out
	}
	types := []corev1.SecretType{c.Type}
	if c.Type == corev1.SecretTypeOpaque {
		types = append(types, "")
	}
	for _, t := range types {
		for _, text := range base64s(c.Binary) {
			for _, data := range forms(text, len(text)) {
				add(map[string]any{"kind": "Secret", "type": t, "data": data})
			}
		}
		if text, ok := asText(c.Binary); ok {
			add(map[string]any{"kind": "Secret", "type": t, "data": "", "stringData": text})
		}
	}
	return out
}

// forms are the ways to write a map: an empty one has three.
func forms(m any, size int) []any {
	if size > 0 {
		return []any{m}
	}
	return []any{"", nil, struct{}{}}
}

// base64s are the data with and without line breaks. kustomize breaks what it
// generates after 70 characters: kyaml yaml/datamap.go encodeBase64, v0.21.
func base64s(data map[string][]byte) []map[string]string {
	plain, broken := map[string]string{}, map[string]string{}
	for key, value := range data {
		plain[key] = base64.StdEncoding.EncodeToString(value)
		broken[key] = breakLines(plain[key])
	}
	if maps.Equal(plain, broken) {
		return []map[string]string{plain}
	}
	return []map[string]string{plain, broken}
}

func breakLines(text string) string {
	const width = 70
	if len(text) < width {
		return text
	}
	var b strings.Builder
	for line := range slices.Chunk([]byte(text), width) {
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

func asText(data map[string][]byte) (map[string]string, bool) {
	out := map[string]string{}
	for key, value := range data {
		if !utf8.Valid(value) {
			return nil, false
		}
		out[key] = string(value)
	}
	return out, len(out) > 0
}

// gardenerSum is what Gardener's kubernetes.MakeUnique appends: the beginning of a
// digest of the values' digests, in the order of their keys (gardener
// pkg/utils/checksums.go computeChecksum).
func gardenerSum(c Content) string {
	values := map[string][]byte{}
	for key, value := range c.Text {
		values[key] = []byte(value)
	}
	maps.Copy(values, c.Binary)
	var all strings.Builder
	for _, key := range slices.Sorted(maps.Keys(values)) {
		sum := sha256.Sum256(values[key])
		all.WriteString(hex.EncodeToString(sum[:]))
	}
	sum := sha256.Sum256([]byte(all.String()))
	return hex.EncodeToString(sum[:])[:gardenerHash]
}

// Fingerprint tells two contents of one object apart. It is salted with the
// object's UID, so that equal contents of two objects do not look equal.
func Fingerprint(o Object) string {
	h := sha256.New()
	write := func(b []byte) {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		_, _ = h.Write(b)
	}
	write([]byte(o.Meta.UID))
	write([]byte(o.Content.Type))
	for _, key := range slices.Sorted(maps.Keys(o.Content.Text)) {
		write([]byte("text"))
		write([]byte(key))
		write([]byte(o.Content.Text[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(o.Content.Binary)) {
		write([]byte("binary"))
		write([]byte(key))
		write(o.Content.Binary[key])
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}
