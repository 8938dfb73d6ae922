package timeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind says what a line is about.
type Kind string

// Kinds of lines.
const (
	// Started: an agent began to look, in the boot BootID.
	Started Kind = "started"
	// Ended: it ended in order. A crash or a power cut leaves no such line.
	Ended Kind = "ended"
	// Alive: it looks, and nothing else was worth a line for a while.
	Alive Kind = "alive"
	// Verdict: what is said of a container, a pod or a service is new.
	Verdict Kind = "verdict"
	// Proxy: the counts of the watch guard.
	Proxy Kind = "proxy"
)

// Gone is the verdict on what is judged no longer.
const Gone = "gone"

// Line is one line. Time is the node's wall clock, which may be set back: the
// order of lines is that of events.
type Line struct {
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`

	// BootID, UpSeconds since the boot, and the agent's Version are of Started.
	BootID    string `json:"bootID,omitempty"`
	UpSeconds int64  `json:"upSeconds,omitempty"`
	Version   string `json:"version,omitempty"`

	// Namespace, Pod and Container are a verdict's key: Container is empty for a
	// whole pod, Pod for a service of the node.
	Namespace string `json:"namespace,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`
	// State is a state of package restartpolicy, several with "+" between them,
	// or Gone.
	State string `json:"verdict,omitempty"`
	// Detail is one line for people.
	Detail string `json:"detail,omitempty"`
	// Revision is that of the pod's manifest; empty if it names none.
	Revision string `json:"revision,omitempty"`

	// Counts are of Proxy.
	Counts *Counts `json:"proxy,omitempty"`
}

// Counts are the watch guard at one moment.
type Counts struct {
	// Streams are the watches that the kubelet holds at the guard.
	Streams int `json:"streams"`
	// Watches are those that the guard holds at the API server.
	Watches int `json:"watches"`
	// Lists counts LISTs sent to the API server since the guard began.
	Lists int64 `json:"lists"`
}

// Bounds of a line. Texts come from manifests and from other programs.
const (
	maxLine   = 4 << 10
	maxName   = 320
	maxDetail = 300
)

// errKind is a line of a kind that is not known: its writer may be newer.
var errKind = errors.New("unknown kind")

// encode cuts what is too long. A line that came out longer than a reader takes,
// because the encoding makes six bytes of one, is cut further: to refuse it would
// cost all that are written with it, again and again.
func encode(l Line) ([]byte, error) {
	l.Time = l.Time.UTC().Truncate(time.Millisecond)
	for most := maxName; ; most /= 2 {
		l.Detail = short(l.Detail, min(most, maxDetail))
		for _, name := range []*string{&l.Namespace, &l.Pod, &l.Container, &l.State, &l.Revision, &l.BootID, &l.Version} {
			*name = short(*name, most)
		}
		data, err := json.Marshal(l)
		if err != nil || len(data) < maxLine || most == 0 {
			return append(data, '\n'), err
		}
	}
}

// decode refuses what no agent writes.
func decode(data []byte) (Line, error) {
	var l Line
	if len(data) >= maxLine {
		return l, fmt.Errorf("a line of %d bytes", len(data))
	}
	if err := json.Unmarshal(data, &l); err != nil {
		return l, err
	}
	if y := l.Time.Year(); y < 1970 || y > 9999 {
		return l, fmt.Errorf("the year %d", y)
	}
	switch l.Kind {
	case Started, Ended, Alive:
		if l.UpSeconds < 0 {
			return l, errors.New("from before its boot")
		}
	case Verdict:
		if l.State == "" || l.Pod == "" && l.Container == "" {
			return l, errors.New("a verdict on nothing")
		}
	case Proxy:
		if c := l.Counts; c == nil || c.Streams < 0 || c.Watches < 0 || c.Lists < 0 {
			return l, errors.New("no counts")
		}
	default:
		return l, errKind
	}
	return l, nil
}

// who is what a verdict is on.
type who struct{ namespace, pod, container string }

func (l Line) who() who { return who{l.Namespace, l.Pod, l.Container} }

// short cuts text between two characters.
func short(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	end := limit
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}
