package promote

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/hasher"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// hashedName gives the object the name that kustomize would.
func hashedName(o Object) string {
	text, err := json.Marshal(encodings(o.Resource, o.Meta.Name, *o.Content)[0])
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	return o.Meta.Name + "-" + consonants.Replace(hex.EncodeToString(sum[:])[:kustomizeHash])
}

const kustomization = `
namePrefix: pre-
namespace: team
configMapGenerator:
- name: plain
  literals: [a=b, "html=<&>", "number=1", "lines=x\ny\n"]
- name: binary
  files: [blob, text]
- name: bytes
  files: [blob]
- name: empty
secretGenerator:
- name: short
  literals: [password=s3cret]
- name: long
  files: [text, blob]
- name: seventy
  files: [seventy]
- name: pull
  type: kubernetes.io/dockerconfigjson
  literals: ['.dockerconfigjson={"auths":{}}']
`

// The oracle: what kustomize itself builds.
func TestNamesThatKustomizeMakesAreRecomputed(t *testing.T) {
	files := filesys.MakeFsInMemory()
	for name, text := range map[string]string{
		"kustomization.yaml": kustomization,
		"blob":               "\xff\x00" + strings.Repeat("\x01\xfe", 200), "text": strings.Repeat("line of text\n", 40), "seventy": strings.Repeat("x", 53),
	} {
		if err := files.WriteFile("/"+name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, resource := range built.Resources() {
		text, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		o := decoded(t, resource.GetKind(), text)
		if made := nameHash(o); made != "kustomize" {
			t.Errorf("%s %s: made by %q", resource.GetKind(), o.Meta.Name, made)
			continue
		}
		seen++
		if o.Content.Text = map[string]string{"other": "content"}; nameHash(o) != "" && o.Resource == ConfigMaps {
			t.Errorf("%s has the hash of another content", o.Meta.Name)
		}
		if o.Content.Binary = map[string][]byte{"other": []byte("content")}; nameHash(o) != "" {
			t.Errorf("%s has the hash of another content", o.Meta.Name)
		}
	}
	if seen != 8 {
		t.Errorf("%d names recomputed", seen)
	}
}

// Generators other than kustomize's own may spell a Secret in other ways.
func TestHashesOfSecretsThatPluginsMake(t *testing.T) {
	for _, text := range []string{
		"stringData: {user: admin, more: text}",
		"data: {user: YWRtaW4=}",
		"type: Opaque",
		"type: mine\ndata: {}",
	} {
		text = "apiVersion: v1\nkind: Secret\nmetadata: {name: n}\n" + text + "\n"
		hash, err := (&hasher.Hasher{}).Hash(kyaml.MustParse(text))
		if err != nil {
			t.Fatal(err)
		}
		o := decoded(t, "Secret", []byte(text))
		if o.Meta.Name = "n-" + hash; nameHash(o) != "kustomize" {
			t.Errorf("%s is not recomputed", text)
		}
	}
}

// decoded is the object as the API server would store it.
func decoded(t *testing.T, kind string, text []byte) Object {
	t.Helper()
	if kind == "ConfigMap" {
		var c corev1.ConfigMap
		if err := yaml.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		return Object{Resource: ConfigMaps, Meta: c.ObjectMeta, Content: ContentOfConfigMap(&c)}
	}
	var s corev1.Secret
	if err := yaml.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if s.Type == "" {
		s.Type = corev1.SecretTypeOpaque
	}
	for key, value := range s.StringData {
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[key] = []byte(value)
	}
	return Object{Resource: Secrets, Meta: s.ObjectMeta, Content: ContentOfSecret(&s)}
}

// The encodings are those that kubectl's own test expects (pkg/util/hash/
// hash_test.go, v1.37), with a name, which kubectl counts.
func TestNamesThatKubectlMakesAreRecomputed(t *testing.T) {
	for _, c := range []struct {
		o       Object
		encoded string
	}{
		{Object{Resource: ConfigMaps, Content: &Content{}}, `{"data":{},"kind":"ConfigMap","name":"n"}`},
		{Object{Resource: ConfigMaps, Content: &Content{}}, `{"data":null,"kind":"ConfigMap","name":"n"}`},
		{Object{Resource: ConfigMaps, Content: &Content{Text: map[string]string{"two": "2", "one": ""}}}, `{"data":{"one":"","two":"2"},"kind":"ConfigMap","name":"n"}`},
		{Object{Resource: ConfigMaps, Content: &Content{Binary: map[string][]byte{"b": {1}}}}, `{"binaryData":{"b":"AQ=="},"data":null,"kind":"ConfigMap","name":"n"}`},
		{Object{Resource: Secrets, Content: &Content{Type: "my-type", Binary: map[string][]byte{"one": {}}}}, `{"data":{"one":""},"kind":"Secret","name":"n","type":"my-type"}`},
	} {
		sum := sha256.Sum256([]byte(c.encoded))
		c.o.Meta.Name = "n-" + consonants.Replace(hex.EncodeToString(sum[:])[:10])
		if nameHash(c.o) == "" {
			t.Errorf("%s is not recomputed", c.encoded)
		}
	}
}

func TestNamesThatGardenerMakesAreRecomputed(t *testing.T) {
	inner := func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) }
	suffix := inner(inner("1") + inner("2"))[:8]
	o := Object{Resource: Secrets, Content: &Content{Binary: map[string][]byte{"b": []byte("2"), "a": []byte("1")}}}
	o.Meta.Name = "token-" + suffix
	if nameHash(o) != "" {
		t.Error("eight digits are enough without Gardener's label")
	}
	o.Meta.Labels = map[string]string{gardenerLabel: "true"}
	if nameHash(o) != "Gardener" {
		t.Error("not recomputed")
	}
	o.Content.Binary["a"] = []byte("3")
	if nameHash(o) != "" {
		t.Error("another content has the same hash")
	}
}

func TestAHashedNameNeedsNoOptInAndMayBeDeployed(t *testing.T) {
	o := promotable(ConfigMaps)
	o.Namespace.Labels = nil
	o.Meta.Labels["kustomize.toolkit.fluxcd.io/name"] = "team"
	o.Use.Checksummed = "web-1"
	o.Meta.Name = hashedName(o)
	if v := Judge(o, policy()); !v.Promote || v.Rule != RuleNameHash {
		t.Errorf("%+v", v)
	}
}

func TestFingerprints(t *testing.T) {
	a, b := promotable(Secrets), promotable(Secrets)
	b.Meta.Labels["new"] = "label"
	b.Meta.ResourceVersion = "2"
	if Fingerprint(a) != Fingerprint(b) {
		t.Error("metadata changes the fingerprint")
	}
	b.Meta.UID = "u2"
	if Fingerprint(a) == Fingerprint(b) {
		t.Error("equal contents of two objects can be told")
	}
	seen := map[string]bool{Fingerprint(a): true}
	for _, data := range []map[string][]byte{{"k": []byte("w")}, {"kv": {}}, {"k": []byte("v"), "l": {}}, {}} {
		a.Content.Binary = data
		if seen[Fingerprint(a)] {
			t.Errorf("%v has the fingerprint of another content", data)
		}
		seen[Fingerprint(a)] = true
	}
}

func FuzzNameHash(f *testing.F) {
	f.Add("a-2456789bcd", "k", "v")
	f.Add("-", "", "")
	f.Add("", "k", "\xff")
	f.Fuzz(func(t *testing.T, name, key, value string) {
		for _, resource := range []Resource{Secrets, ConfigMaps} {
			o := Object{Resource: resource, Content: &Content{Binary: map[string][]byte{key: []byte(value)}}}
			o.Meta.Name = name
			_ = nameHash(o)
			if o.Meta.Name = "n"; json.Valid([]byte(`"` + key + `"`)) {
				o.Meta.Name = hashedName(o)
				if nameHash(o) == "" {
					t.Errorf("%s %q is not recomputed", resource, o.Meta.Name)
				}
			}
		}
	})
}
