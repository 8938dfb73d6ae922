package journal

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

// what is a thing that a kubelet says.
type what int

const (
	nothing what = iota
	starting
	populated
	immutable
	idle
	late
	version
)

// phrases are looked for in this order.
var phrases = []struct {
	text []byte
	what what
}{
	{[]byte("Starting reflector"), starting},
	{[]byte("Caches populated"), populated},
	{[]byte("object is immutable"), immutable},
	{[]byte("Not acquired for long time"), idle},
	{[]byte("failed to sync secret cache"), late},
	{[]byte("failed to sync configmap cache"), late},
	{[]byte("Kubelet version"), version},
}

// entry is a line that says something.
type entry struct {
	what what
	key  shape.Key
	// version is the kubelet's.
	version string
	// at is zero if the line does not say.
	at time.Time
}

// record is one of journalctl -o json. MESSAGE is an array of numbers if it is
// not printable.
type record struct {
	Message   json.RawMessage `json:"MESSAGE"`
	Microsecs string          `json:"__REALTIME_TIMESTAMP"`
}

// logged is a line of a kubelet with logging.format json.
type logged struct {
	Message   string  `json:"msg"`
	Type      string  `json:"type"`
	Reflector string  `json:"reflector"`
	Version   string  `json:"kubeletVersion"`
	Millisecs float64 `json:"ts"`
}

// header is what lines of Kubernetes' programs begin with, behind whatever
// journalctl puts before: klog's "I1130 07:41:47.600000      98 server.go:545]",
// or that of logging.format json, which is quoted once more in -o json. Each has a
// place in a source file, which is looked for first: that is much faster.
var header = regexp.MustCompile(`[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [^ \]]+:\d+\]` + `|\\?"ts\\?":\d[\d.]*,\\?"caller\\?":`)

var source = []byte(".go:")

func headed(line []byte) bool { return bytes.Contains(line, source) && header.Match(line) }

// read reads a line. One whose time has no year is of the year before now.
func read(line []byte, now time.Time) entry {
	e := entry{what: find(line)}
	if e.what == nothing {
		return e
	}
	message := string(line)
	if line[0] == '{' {
		var r record
		if json.Unmarshal(line, &r) == nil && len(r.Message) > 0 {
			message = text(r.Message)
			e.at, _ = micros([]byte(r.Microsecs))
		}
	}
	if i := strings.IndexByte(message, '{'); i >= 0 && strings.HasSuffix(strings.TrimSpace(message), "}") {
		var l logged
		if json.Unmarshal([]byte(message[i:]), &l) == nil && l.Message != "" {
			e.key, e.version = reflected(l.Type, l.Reflector), l.Version
			if e.at.IsZero() && l.Millisecs > 0 && l.Millisecs < 1e15 {
				e.at = time.UnixMilli(int64(l.Millisecs)).UTC()
			}
			return e.sure()
		}
	}
	e.key = reflected(typed(message), named(message))
	e.version = value(message, "kubeletVersion=")
	if e.at.IsZero() {
		e.at = stamp(message, now)
	}
	return e.sure()
}

func find(line []byte) what {
	for _, p := range phrases {
		if bytes.Contains(line, p.text) {
			return p.what
		}
	}
	return nothing
}

// sure drops reflectors of other things, which the kubelet has a few of.
func (e entry) sure() entry {
	if (e.what == starting || e.what == populated) && e.key == (shape.Key{}) {
		e.what = nothing
	}
	return e
}

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var numbers []int
	if json.Unmarshal(raw, &numbers) != nil {
		return ""
	}
	b := make([]byte, len(numbers))
	for i, n := range numbers {
		b[i] = byte(n)
	}
	return string(b)
}

// typed is the type of a reflector: type="*v1.Secret", or as kubelets before
// structured logging had it, Starting reflector *v1.Secret (0s) from ...
func typed(message string) string {
	for _, t := range []string{"*v1.Secret", "*v1.ConfigMap"} {
		if i := strings.Index(message, t); i >= 0 && !continues(message[i+len(t):]) {
			return t
		}
	}
	return ""
}

func continues(rest string) bool {
	return rest != "" && (rest[0] >= 'A' && rest[0] <= 'Z' || rest[0] >= 'a' && rest[0] <= 'z')
}

// named is the name of a reflector: reflector="object-\"ns\"/\"name\"", or
// object-"ns"/"name" at the end.
func named(message string) string {
	if v := value(message, "reflector="); v != "" {
		return v
	}
	if i := strings.Index(message, `object-"`); i >= 0 {
		return message[i:]
	}
	return ""
}

// value is a value of a structured line, without its quotes.
func value(message, key string) string {
	i := strings.Index(message, key)
	if i < 0 {
		return ""
	}
	quoted, err := strconv.QuotedPrefix(message[i+len(key):])
	if err != nil {
		return ""
	}
	v, err := strconv.Unquote(quoted)
	if err != nil {
		return ""
	}
	return v
}

// reflected is the object of a reflector of the kubelet's managers; none for
// other reflectors (kubelet pkg/kubelet/util/manager/watch_based_manager.go
// newReflectorLocked).
func reflected(kind, name string) shape.Key {
	rest, ok := strings.CutPrefix(name, "object-")
	if !ok {
		return shape.Key{}
	}
	namespace, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return shape.Key{}
	}
	rest, ok = strings.CutPrefix(rest[len(namespace):], "/")
	if !ok {
		return shape.Key{}
	}
	object, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return shape.Key{}
	}
	key := shape.Key{Resource: shape.Secrets}
	switch kind {
	case "*v1.Secret":
	case "*v1.ConfigMap":
		key.Resource = shape.ConfigMaps
	default:
		return shape.Key{}
	}
	key.Namespace, _ = strconv.Unquote(namespace)
	key.Name, _ = strconv.Unquote(object)
	if key.Namespace == "" || key.Name == "" {
		return shape.Key{}
	}
	return key
}
