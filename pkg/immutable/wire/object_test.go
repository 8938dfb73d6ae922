package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestAPrintedObjectShowsNoData(t *testing.T) {
	o := &Object{Namespace: "ns", Name: "pull", UID: "u", ResourceVersion: "5", Immutable: true, Protobuf: []byte("hunter2")}
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("object", "pointer", o, "value", *o)
	}
	asJSON, err := json.Marshal(struct{ O *Object }{o})
	if err != nil {
		t.Fatal(err)
	}
	text := log.String() + string(asJSON)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		text += fmt.Sprintf(verb+verb+verb, o, *o, struct{ O *Object }{o}) + fmt.Sprintf(verb, []Object{*o})
	}
	if !strings.Contains(text, "ns/pull uid=u resourceVersion=5 immutable=true bytes=7") {
		t.Errorf("the object is not named: %s", text)
	}
	for _, form := range []string{"hunter2", "68756e", "aHVudGVyMg", "104 117", "0x68"} {
		if strings.Contains(text, form) {
			t.Errorf("the data shows as %s: %s", form, text)
		}
	}
}

func TestOnlyANumberBecomesAResourceVersion(t *testing.T) {
	o := &Object{Namespace: "ns", Name: "n", ResourceVersion: "5"}
	for _, version := range []string{"", "0", "05", "x"} {
		if _, err := o.WithResourceVersion(version); !errors.Is(err, ErrResourceVersion) {
			t.Errorf("%q gives %v", version, err)
		}
	}
}
