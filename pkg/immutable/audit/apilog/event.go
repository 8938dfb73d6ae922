package apilog

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

// Verb is what was asked.
type Verb int

// The verbs. WatchList is a watch that first sends what there is.
const (
	List Verb = iota
	Watch
	WatchList
	Get
	verbs
)

// stage is when in a request's life an event was written.
type stage int

const (
	received stage = iota
	started
	complete
	stages
)

// Client is who asked in a node's name.
type Client int

// The clients, told apart by their user agents, which anybody with the node's
// certificate can choose.
const (
	Kubelet Client = iota
	Guard
	Other
	clients
)

var clientNames = [...]string{"kubelet", "nodekeeper-proxy", "other"}

func (c Client) String() string { return clientNames[c] }

const nodeUser = "system:node:"

// event is what is read of a line. Its fields are those of audit.k8s.io/v1.
type event struct {
	Kind  string `json:"kind"`
	Stage string `json:"stage"`
	Verb  string `json:"verb"`
	URI   string `json:"requestURI"`
	Agent string `json:"userAgent"`
	User  struct {
		Name string `json:"username"`
	} `json:"user"`
	Object struct {
		Resource    string `json:"resource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Received time.Time `json:"requestReceivedTimestamp"`
}

// maxPrefix is how much may stand before an event: a log that was fetched from
// several nodes has the node's name there.
const maxPrefix = 256

// outcome is what became of a line.
type outcome int

const (
	ours outcome = iota
	// passed: an event about something else.
	passed
	// foreign: no event, or not a whole one.
	foreign
)

var (
	secrets    = []byte(`"secrets"`)
	configMaps = []byte(`"configmaps"`)
)

// read reads a line. Most lines are of other resources and are told by a look
// for the words alone: of those only the ends are seen.
func read(line []byte, e *event) outcome {
	at := bytes.IndexByte(line, '{')
	if at < 0 || at > maxPrefix || line[len(line)-1] != '}' {
		return foreign
	}
	line = line[at:]
	if !bytes.Contains(line, secrets) && !bytes.Contains(line, configMaps) {
		if !bytes.Contains(line, []byte(`"audit.k8s.io/`)) {
			return foreign
		}
		return passed
	}
	*e = event{}
	if json.Unmarshal(line, e) != nil || e.Kind != "Event" || e.Received.IsZero() {
		return foreign
	}
	if e.Object.Resource != string(shape.Secrets) && e.Object.Resource != string(shape.ConfigMaps) || e.Object.Subresource != "" {
		return passed
	}
	return ours
}

func (e *event) verb() (Verb, bool) {
	switch e.Verb {
	case "list":
		return List, true
	case "get":
		return Get, true
	case "watch":
		if strings.Contains(e.URI, "sendInitialEvents=true") {
			return WatchList, true
		}
		return Watch, true
	}
	return 0, false
}

func (e *event) stage() (stage, bool) {
	switch e.Stage {
	case "RequestReceived":
		return received, true
	case "ResponseStarted":
		return started, true
	case "ResponseComplete", "Panic":
		return complete, true
	}
	return 0, false
}

func (e *event) client() Client {
	switch {
	case strings.HasPrefix(e.Agent, "kubelet/"):
		return Kubelet
	case strings.HasPrefix(e.Agent, "nodekeeper-proxy/"):
		return Guard
	}
	return Other
}

// consistent tells a read of the most recent state, which costs a read of etcd.
// A plain watch has none: it goes on from a version.
func (e *event) consistent() bool {
	_, query, _ := strings.Cut(e.URI, "?")
	for part := range strings.SplitSeq(query, "&") {
		if version, ok := strings.CutPrefix(part, "resourceVersion="); ok {
			return version == ""
		}
	}
	return true
}
