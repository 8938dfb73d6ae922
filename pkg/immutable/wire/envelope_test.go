package wire

import "testing"

func TestOnlyAPlainObjectOfV1IsTakenOutOfItsEnvelope(t *testing.T) {
	envelope := func(version, encoding, contentType string) []byte {
		meta := appendString(appendString(nil, typeMetaAPIVersion, version), typeMetaKind, "SecretList")
		out := appendField([]byte(magic), unknownTypeMeta, meta)
		out = appendString(out, unknownRaw, "message")
		out = appendString(out, unknownContentEncoding, encoding)
		return appendString(out, unknownContentType, contentType)
	}
	for _, contentType := range []string{"", "application/vnd.kubernetes.protobuf"} {
		kind, message, err := openEnvelope(envelope("v1", "", contentType))
		if err != nil || kind != "SecretList" || string(message) != "message" {
			t.Errorf("content type %q: %s %q, %v", contentType, kind, message, err)
		}
	}
	for name, data := range map[string][]byte{
		"another version":        envelope("v2", "", ""),
		"no version":             envelope("", "", ""),
		"a group":                envelope("core/v1", "", ""),
		"compressed content":     envelope("v1", "gzip", ""),
		"content in JSON":        envelope("v1", "", "application/json"),
		"another magic":          append([]byte("k8s\x01"), envelope("v1", "", "")[4:]...),
		"a type that is no text": append([]byte(magic), unknownTypeMeta<<3, 1),
	} {
		if kind, message, err := openEnvelope(data); err == nil {
			t.Errorf("%s: %s %q", name, kind, message)
		}
	}
}
