package config

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestTheReferenceIsThatOfTheTypes(t *testing.T) {
	var want bytes.Buffer
	if err := WriteReference(&want); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/configuration.md")
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("docs/configuration.md is not what the types say (%v): run make generate", err)
	}
}

func TestEveryFieldIsInTheReference(t *testing.T) {
	var text bytes.Buffer
	if err := WriteReference(&text); err != nil {
		t.Fatal(err)
	}
	var walk func(reflect.Type)
	walk = func(in reflect.Type) {
		for i := range in.NumField() {
			field := in.Field(i)
			if field.Type.Kind() == reflect.Struct && field.Type != reflect.TypeFor[Duration]() {
				walk(field.Type)
				continue
			}
			meaning := docs[in.Name()+"."+nameOf(field)]
			if meaning == "" || !strings.Contains(text.String(), "| `"+nameOf(field)+"` |") || !strings.Contains(text.String(), meaning) {
				t.Errorf("%s.%s is not explained", in.Name(), nameOf(field))
			}
		}
	}
	walk(reflect.TypeFor[Configuration]())
}
