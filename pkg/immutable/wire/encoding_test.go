package wire

import "testing"

func TestTheEncodingIsTheOneAServerWouldChoose(t *testing.T) {
	const none = Encoding(0)
	for accept, want := range map[string]Encoding{
		"": JSON,
		"application/vnd.kubernetes.protobuf,application/json":  Protobuf,
		"application/vnd.kubernetes.protobuf, application/json": Protobuf,
		"application/json":      JSON,
		"application/json, */*": JSON,
		"application/json,application/vnd.kubernetes.protobuf": JSON,
		"*/*":           JSON,
		"*":             JSON,
		"application/*": JSON,
		"application/json;q=0.1,application/vnd.kubernetes.protobuf":   Protobuf,
		"application/vnd.kubernetes.protobuf;stream=watch":             Protobuf,
		"application/json;stream=watch":                                JSON,
		"text/html,application/vnd.kubernetes.protobuf":                Protobuf,
		"text/html, application/xhtml+xml, application/xml;q=0.9, */*": JSON,

		"text/html":                     none,
		"*/json":                        none,
		"application/yaml":              none,
		"application/cbor":              none,
		"application/cbor,*/*":          none,
		"application/json;pretty=1":     none,
		"application/json;stream=other": none,
		"application/json;as=Table;v=v1;g=meta.k8s.io,application/json":                       none,
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,*/*": none,
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1": none,
		"application/json;charset=utf-8":                                                      none,
		"application":                                                                         none,
		"a/b/c":                                                                               none,
		",":                                                                                   none,
	} {
		got, ok := Negotiate(accept)
		if got != want || ok != (want != none) {
			t.Errorf("%q gives %s, %t, want %s", accept, got, ok, want)
		}
	}
}

func TestContentTypesAreTheServers(t *testing.T) {
	for enc, want := range map[Encoding][2]string{
		JSON:     {"application/json", "application/json"},
		Protobuf: {"application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;stream=watch"},
	} {
		if got := [2]string{enc.ContentType(), enc.StreamContentType()}; got != want {
			t.Errorf("%s: %q, want %q", enc, got, want)
		}
	}
}
