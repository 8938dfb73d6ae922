package journal

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/nodekeeper/nodekeeper/pkg/node"
)

// header begins a record in klog's text format: severity, time, PID, place in
// the source. klog internal/buffer/buffer.go FormatHeader, v2.120 to v2.140.
// MicroShift runs all components in one process, and writes the component's name
// before it (internal/buffer of its klog).
var header = regexp.MustCompile(`^(?:(\S+) )?[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +(\d+) [^\s\]]+:\d+\] `)

// record is one thing that the kubelet wrote.
type record struct {
	// component is empty but in MicroShift; pid is 0 in JSON.
	component string
	pid       int
	// message is empty for a line without structure.
	message string
	// body holds the values: what follows the message, or the JSON object.
	body string
}

// parseRecord tells whether the text is a record of klog, as text or as JSON
// (--logging-format=json).
func parseRecord(text string) (record, bool) {
	if strings.HasPrefix(text, "{") {
		var line struct {
			Time    float64 `json:"ts"`
			Message string  `json:"msg"`
		}
		err := json.Unmarshal([]byte(text), &line)
		return record{message: line.Message, body: text}, err == nil && line.Time > 0
	}
	m := header.FindStringSubmatch(text)
	if m == nil {
		return record{}, false
	}
	rec := record{component: m[1]}
	rec.pid, _ = strconv.Atoi(m[2])
	if quoted, err := strconv.QuotedPrefix(text[len(m[0]):]); err == nil {
		rec.message, _ = strconv.Unquote(quoted)
		rec.body = text[len(m[0])+len(quoted):]
	}
	return rec, true
}

// joiner joins the lines of a record. klog writes a value with line breaks as
// key=<, each of its lines after a tab, and " >" (internal/serialize/keyvalues.go
// writeStringValue); journald makes an entry of each line.
type joiner struct{ open string }

// add returns the records that are whole with this line, or cut off by it.
func (j *joiner) add(line string) []string {
	const longest = 64 << 10
	cut := j.open
	begins, more := header.MatchString(line), strings.HasSuffix(line, "=<")
	ends := line == " >" || strings.HasPrefix(line, " > ")
	switch {
	case begins && more:
		j.open = line
		return []string{cut}
	case begins || cut == "":
		j.open = ""
		return []string{cut, line}
	case ends && !more:
		j.open = ""
		return []string{cut + "\n" + line}
	case ends || len(cut)+len(line) < longest:
		j.open += "\n" + line
	}
	return nil
}

// values are what a record says beside its message: strings, and lists of
// strings. An object is the namespace/name of what it refers to.
type values map[string]any

// values reads the record's values; false if they are cut off.
func (r record) values() (values, bool) {
	all := values{}
	if strings.HasPrefix(r.body, "{") {
		err := json.Unmarshal([]byte(r.body), &all)
		for key, value := range all {
			all[key] = simple(value)
		}
		return all, err == nil
	}
	for rest := strings.TrimLeft(r.body, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, after, _ := strings.Cut(rest, "=")
		value, size := textValue(after)
		if size == 0 {
			return nil, false
		}
		all[key], rest = value, after[size:]
	}
	return all, true
}

// textValue reads the value that a text begins with, and its size; 0 if it is
// cut off.
func textValue(text string) (value any, size int) {
	switch {
	case strings.HasPrefix(text, `"`):
		quoted, _ := strconv.QuotedPrefix(text)
		value, _ = strconv.Unquote(quoted)
		return value, len(quoted)
	case strings.HasPrefix(text, "<\n"):
		inner, _, whole := strings.Cut(text[len("<"):], "\n >")
		if !whole {
			return nil, 0
		}
		return strings.TrimPrefix(strings.ReplaceAll(inner, "\n\t", "\n"), "\n"), len("<") + len(inner) + len("\n >")
	case strings.HasPrefix(text, "["), strings.HasPrefix(text, "{"):
		decoder := json.NewDecoder(strings.NewReader(text))
		if decoder.Decode(&value) != nil {
			return nil, 0
		}
		return simple(value), int(decoder.InputOffset())
	}
	word, _, _ := strings.Cut(text, " ")
	return word, len(word)
}

// simple is a JSON value as a string, or as a list of them.
func simple(value any) any {
	switch v := value.(type) {
	case map[string]any:
		namespace, _ := v["namespace"].(string)
		name, _ := v["name"].(string)
		return namespace + "/" + name
	case []any:
		list := make([]string, len(v))
		for i, one := range v {
			list[i], _ = simple(one).(string)
		}
		return list
	}
	return value
}

// text is a value; empty if there is none.
func (v values) text(key string) string {
	text, _ := v[key].(string)
	return text
}

// podName reads namespace/name.
func podName(text string) (node.PodName, bool) {
	namespace, name, _ := strings.Cut(text, "/")
	return node.PodName{Namespace: namespace, Name: name}, namespace != "" && name != ""
}

// oneLine is a text as one line of at most 160 characters.
func oneLine(text string) string {
	const limit = 160
	words := strings.Fields(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text[:min(len(text), 16*limit)]))
	if line := []rune(strings.Join(words, " ")); len(line) > limit {
		return string(line[:limit-1]) + "…"
	}
	return strings.Join(words, " ")
}
