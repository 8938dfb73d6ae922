package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote"
)

const (
	shards = 16
	// maxRecords keeps a shard below the 1 MiB that the API server takes.
	maxRecords  = 5000
	historyType = "nodekeeper.io/promotion-history"
	historyKey  = "records"
)

// record is what is kept of a candidate.
type record struct {
	// Version is the resourceVersion that was read, Namespace that of its
	// namespace: while both stay, so does everything that was judged.
	Version   string `json:"v"`
	Namespace string `json:"n,omitempty"`
	// Print is the content's fingerprint, and Since when it was first seen, in
	// seconds of Unix time.
	Print string `json:"p,omitempty"`
	Since int64  `json:"s,omitempty"`
	// Rule is what refused it for good.
	Rule promote.Rule `json:"r,omitempty"`
}

// history is when the content of each candidate was first seen, by UID. It is kept
// in Secrets of the promoter's namespace, for from a content's fingerprint a short
// password can be guessed; and not in annotations of the objects, because each
// would be a write that every kubelet with a watch is told of, by a second writer,
// and in a dry run too.
type history struct {
	client typedcorev1.SecretInterface
	shards [shards]shard
}

type shard struct {
	records map[types.UID]record
	seen    map[types.UID]bool
	// stored is the Secret as the API server has it; nil if there is none.
	stored *corev1.Secret
	dirty  bool
}

func newHistory(client typedcorev1.SecretInterface) *history {
	h := &history{client: client}
	for i := range h.shards {
		h.shards[i] = shard{records: map[types.UID]record{}, seen: map[types.UID]bool{}}
	}
	return h
}

func shardName(i int) string { return fmt.Sprintf("nodekeeper-promote-history-%x", i) }

// load reads all shards. One that cannot be decoded is begun anew: its objects
// wait once more.
func (h *history) load(ctx context.Context) error {
	for i := range h.shards {
		stored, err := h.client.Get(ctx, shardName(i), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return err
		}
		s := &h.shards[i]
		s.stored = stored
		if err := json.Unmarshal(stored.Data[historyKey], &s.records); err != nil || s.records == nil {
			s.records = map[types.UID]record{}
		}
	}
	return nil
}

// save writes what has changed. A conflict means that another promoter writes too.
func (h *history) save(ctx context.Context) error {
	for i := range h.shards {
		s := &h.shards[i]
		if !s.dirty {
			continue
		}
		text, err := json.Marshal(s.records)
		if err != nil {
			return err
		}
		secret := s.stored
		if secret == nil {
			secret = &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: shardName(i), Labels: map[string]string{promote.PolicyKey: promote.PolicyNever}},
				Type:       historyType,
			}
		}
		secret.Data = map[string][]byte{historyKey: text}
		if s.stored == nil {
			secret, err = h.client.Create(ctx, secret, metav1.CreateOptions{FieldManager: Manager})
		} else {
			secret, err = h.client.Update(ctx, secret, metav1.UpdateOptions{FieldManager: Manager})
		}
		if err != nil {
			return fmt.Errorf("write history: %w", err)
		}
		s.stored, s.dirty = secret, false
	}
	return nil
}

func (h *history) shard(uid types.UID) *shard {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(uid))
	return &h.shards[sum.Sum32()%shards]
}

// recall is what is remembered of an object; same says that neither it nor its
// namespace has changed since.
func (h *history) recall(o promote.Object) (r record, same bool) {
	s := h.shard(o.Meta.UID)
	s.seen[o.Meta.UID] = true
	r, ok := s.records[o.Meta.UID]
	return r, ok && r.Version == o.Meta.ResourceVersion && r.Namespace == o.Namespace.ResourceVersion
}

// observe notes an object's content and returns since when it is as it is. It is
// false if there is no room for another.
func (h *history) observe(o promote.Object, now time.Time) (since time.Time, room bool) {
	r := record{Version: o.Meta.ResourceVersion, Namespace: o.Namespace.ResourceVersion, Print: promote.Fingerprint(o), Since: now.Unix()}
	before, ok := h.shard(o.Meta.UID).records[o.Meta.UID]
	if ok && before.Print == r.Print {
		r.Since = before.Since
	}
	return r.seen(), h.put(o.Meta.UID, r)
}

// settle notes that a rule has refused an object as it is.
func (h *history) settle(o promote.Object, rule promote.Rule) {
	r := record{Version: o.Meta.ResourceVersion, Namespace: o.Namespace.ResourceVersion, Rule: rule}
	// Should it become eligible, its content does not begin to age anew.
	if before, ok := h.shard(o.Meta.UID).records[o.Meta.UID]; ok {
		r.Print, r.Since = before.Print, before.Since
	}
	h.put(o.Meta.UID, r)
}

func (h *history) put(uid types.UID, r record) bool {
	s := h.shard(uid)
	before, ok := s.records[uid]
	if !ok && len(s.records) >= maxRecords {
		return false
	}
	if before != r {
		s.records[uid], s.dirty = r, true
	}
	return true
}

// dropUnseen forgets what a whole pass has not met.
func (h *history) dropUnseen() {
	for i := range h.shards {
		s := &h.shards[i]
		for uid := range s.records {
			if !s.seen[uid] {
				delete(s.records, uid)
				s.dirty = true
			}
		}
	}
}
