package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote"
)

// The reasons of events.
const (
	EventPromoted     = "MadeImmutable"
	EventWouldPromote = "WouldMakeImmutable"
)

// act marks the object that was judged, and no later one.
func (p *pass) act(ctx context.Context, o promote.Object, v promote.Verdict) error {
	log := p.o.Log.With("resource", o.Resource, "namespace", o.Meta.Namespace, "name", o.Meta.Name, "rule", v.Rule, "reason", v.Reason)
	if p.o.DryRun {
		p.count(func(n *Counts) { n.WouldPromote++ })
		log.Info("would make immutable")
		return p.failed(ctx, o, p.tell(ctx, o, EventWouldPromote, "would be made immutable: "+v.Reason))
	}
	if err := p.promotions.Wait(ctx); err != nil {
		return err
	}
	// The pass may be hours old, and an opt-out of the namespace raises no
	// resourceVersion that the patch could be refused for.
	namespace, err := p.metadata.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Get(ctx, o.Meta.Namespace, metav1.GetOptions{})
	if err != nil {
		return p.failed(ctx, o, fmt.Errorf("read its namespace: %w", err))
	}
	o.Namespace = namespace.ObjectMeta
	if now := p.judge(o); !now.Promote {
		p.refuse(o, now)
		return nil
	}
	version, err := p.patch(ctx, o, v)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		p.count(func(n *Counts) { n.Raced++ })
		log.Info("changed before it could be made immutable; the next pass judges it anew")
		return nil
	case err != nil:
		return p.failed(ctx, o, fmt.Errorf("make immutable: %w", err))
	}
	p.count(func(n *Counts) { n.Promoted++ })
	log.Info("made immutable")
	o.Meta.ResourceVersion = version
	p.history.settle(o, promote.RuleImmutable)
	return p.failed(ctx, o, p.tell(ctx, o, EventPromoted, "made immutable: "+v.Reason))
}

// patch is a merge patch with the UID and resourceVersion that were judged: the
// API server answers 409 if either is another by now.
func (p *pass) patch(ctx context.Context, o promote.Object, v promote.Verdict) (version string, err error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid":             o.Meta.UID,
			"resourceVersion": o.Meta.ResourceVersion,
			"annotations":     map[string]string{promote.ReasonKey: v.Reason},
		},
		"immutable": true,
	})
	if err != nil {
		return "", err
	}
	options := metav1.PatchOptions{FieldManager: Manager}
	if o.Resource == promote.Secrets {
		s, err := p.core.Secrets(o.Meta.Namespace).Patch(ctx, o.Meta.Name, types.MergePatchType, patch, options)
		if err != nil {
			return "", err
		}
		return s.ResourceVersion, nil
	}
	c, err := p.core.ConfigMaps(o.Meta.Namespace).Patch(ctx, o.Meta.Name, types.MergePatchType, patch, options)
	if err != nil {
		return "", err
	}
	return c.ResourceVersion, nil
}

// tell creates an event. Its name is made of what it says, so that a dry run that
// passes every few minutes tells it once while the event lives.
func (p *pass) tell(ctx context.Context, o promote.Object, reason, message string) error {
	if err := p.reads.Wait(ctx); err != nil {
		return err
	}
	kind := "ConfigMap"
	if o.Resource == promote.Secrets {
		kind = "Secret"
	}
	sum := fnv.New64a()
	_, _ = fmt.Fprint(sum, o.Meta.UID, reason, message)
	now := metav1.NewTime(p.o.Now())
	name := o.Meta.Name
	if len(name) > 230 {
		name = name[:230]
	}
	_, err := p.core.Events(o.Meta.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", name, sum.Sum64()), Namespace: o.Meta.Namespace},
		InvolvedObject:      corev1.ObjectReference{APIVersion: "v1", Kind: kind, Namespace: o.Meta.Namespace, Name: o.Meta.Name, UID: o.Meta.UID, ResourceVersion: o.Meta.ResourceVersion},
		Reason:              reason,
		Message:             message,
		Type:                corev1.EventTypeNormal,
		FirstTimestamp:      now,
		LastTimestamp:       now,
		Count:               1,
		Source:              corev1.EventSource{Component: Manager},
		ReportingController: "nodekeeper.io/promote",
		ReportingInstance:   p.o.Identity,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("event %s: %w", reason, err)
	}
	return nil
}
