package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/expect"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/audit/refs"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote"
	"github.com/nodekeeper/nodekeeper/pkg/immutable/shape"
)

const (
	// objectsAtOnce is how many objects one answer has: their contents come
	// along, as nothing less tells whether they are immutable.
	objectsAtOnce = "100"
	// maxPage bounds such an answer.
	maxPage = 256 << 20
	// listsAtOnce keeps the audit from being the storm that it is about.
	listsAtOnce = 2
	// namespaceTime is how long the answers about one namespace may take.
	namespaceTime = 2 * time.Minute
)

// objects are the states of the objects that pods refer to.
type objects struct {
	states map[shape.Key]expect.Object
	// blind are the namespaces and resources that could not be listed.
	blind map[shape.Key]bool
	notes []string
}

// look tells an object that was not seen from one that is not there.
func (o *objects) look(key shape.Key) expect.Object {
	if state, seen := o.states[key]; seen {
		return state
	}
	if o.blind[shape.Key{Resource: key.Resource, Namespace: key.Namespace}] {
		return expect.Object{State: expect.Unknown}
	}
	return expect.Object{State: expect.Missing}
}

// objects lists the objects of the namespaces of pods and keeps what is said of
// those that the pods refer to, and nothing of what they hold.
func (c *cluster) objects(ctx context.Context, pods []*corev1.Pod, now time.Time) *objects {
	o := &objects{states: map[shape.Key]expect.Object{}, blind: map[shape.Key]bool{}}
	wanted := map[shape.Key]map[string]bool{}
	for _, pod := range pods {
		if !refs.Registered(pod) {
			continue
		}
		for _, r := range refs.Of(pod) {
			place := shape.Key{Resource: r.Resource, Namespace: r.Namespace}
			if wanted[place] == nil {
				wanted[place] = map[string]bool{}
			}
			wanted[place][r.Name] = true
		}
	}
	namespaces, err := c.namespaces(ctx)
	if err != nil {
		o.notes = append(o.notes, fmt.Sprintf("no namespace's consent to be promoted is known: %v", err))
	}
	places := slices.SortedFunc(maps.Keys(wanted), func(a, b shape.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Resource, b.Resource))
	})
	found := make([]map[shape.Key]expect.Object, len(places))
	failures := make([]error, len(places))
	var group errgroup.Group
	group.SetLimit(listsAtOnce)
	for i, place := range places {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, namespaceTime)
			defer cancel()
			found[i], failures[i] = c.statesIn(ctx, place, wanted[place], namespaces[place.Namespace], now)
			return nil
		})
	}
	_ = group.Wait() // what went wrong stands in failures
	said := 0
	for i, place := range places {
		maps.Copy(o.states, found[i])
		if failures[i] == nil {
			continue
		}
		o.blind[place] = true
		if said++; said <= maxNotes {
			o.notes = append(o.notes, fmt.Sprintf("the %s of %s are not known: %v", place.Resource, place.Namespace, failures[i]))
		}
	}
	if said > maxNotes {
		o.notes = append(o.notes, fmt.Sprintf("and so are those of %d more", said-maxNotes))
	}
	return o
}

// maxNotes is how many namespaces that cannot be listed are named.
const maxNotes = 3

func (c *cluster) namespaces(ctx context.Context) (map[string]metav1.ObjectMeta, error) {
	out := map[string]metav1.ObjectMeta{}
	query := url.Values{"limit": {"500"}}
	for {
		var list metav1.PartialObjectMetadataList
		if err := c.decode(ctx, "/api/v1/namespaces", query, &list); err != nil {
			return out, err
		}
		for _, n := range list.Items {
			out[n.Name] = n.ObjectMeta
		}
		if list.Continue == "" {
			return out, nil
		}
		query.Set("continue", list.Continue)
	}
}

// listed is what is read of a page of Secrets or ConfigMaps.
type listed struct {
	Metadata metav1.ListMeta   `json:"metadata"`
	Items    []json.RawMessage `json:"items"`
}

// statesIn are the states of the wanted objects of one namespace and resource.
func (c *cluster) statesIn(ctx context.Context, place shape.Key, wanted map[string]bool, namespace metav1.ObjectMeta, now time.Time) (map[shape.Key]expect.Object, error) {
	out := map[shape.Key]expect.Object{}
	query := url.Values{"limit": {objectsAtOnce}}
	for {
		var page listed
		if err := c.page(ctx, "/api/v1/namespaces/"+place.Namespace+"/"+string(place.Resource), query, &page); err != nil {
			return out, err
		}
		for _, item := range page.Items {
			o, err := promotable(place.Resource, item)
			if err != nil {
				return out, err
			}
			if !wanted[o.Meta.Name] {
				continue
			}
			o.Namespace = namespace
			key := place
			key.Name = o.Meta.Name
			out[key] = expect.Of(o, now)
		}
		if page.Metadata.Continue == "" {
			return out, nil
		}
		query.Set("continue", page.Metadata.Continue)
	}
}

func (c *cluster) page(ctx context.Context, at string, query url.Values, v any) error {
	answer, err := c.get(ctx, at, query, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if json.NewDecoder(io.LimitReader(answer.Body, maxPage)).Decode(v) != nil {
		return errStrange
	}
	return nil
}

// errStrange has nothing of the answer, which can be a Secret.
var errStrange = errors.New("the API server's answer is not what was asked for")

func promotable(resource shape.Resource, item json.RawMessage) (promote.Object, error) {
	o := promote.Object{Resource: promote.Resource(resource)}
	if resource == shape.Secrets {
		var s corev1.Secret
		if json.Unmarshal(item, &s) != nil {
			return o, errStrange
		}
		o.Meta, o.Content = s.ObjectMeta, promote.ContentOfSecret(&s)
		return o, nil
	}
	var m corev1.ConfigMap
	if json.Unmarshal(item, &m) != nil {
		return o, errStrange
	}
	o.Meta, o.Content = m.ObjectMeta, promote.ContentOfConfigMap(&m)
	return o, nil
}
