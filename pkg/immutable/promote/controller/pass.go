package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote"
)

const pageSize = 500

// foreignTypes keeps Secrets that are never promoted out of the list, because
// metadata alone does not tell the type.
const foreignTypes = "type!=" + string(corev1.SecretTypeServiceAccountToken) +
	",type!=" + string(corev1.SecretTypeDockercfg) +
	",type!=" + string(corev1.SecretTypeTLS) +
	",type!=bootstrap.kubernetes.io/token,type!=helm.sh/release.v1"

// pass is one way through the cluster.
type pass struct {
	*Controller
	history    *history
	namespaces map[string]metav1.ObjectMeta
	uses       uses
	// candidates are those whose metadata leaves the question open. Only what finds
	// them again is kept: at one patch a second, working them off takes longer than
	// the API server continues a list for.
	candidates []promote.Object
}

// savedEvery candidates the history is written, so that a restart costs no more.
const savedEvery = 200

// Pass goes through the cluster once.
func (c *Controller) Pass(ctx context.Context) error {
	c.count(func(n *Counts) { n.Passes++ })
	p := &pass{Controller: c, history: newHistory(c.core.Secrets(c.o.Namespace)), namespaces: map[string]metav1.ObjectMeta{}}
	p.uses.of = p
	if err := p.history.load(ctx); err != nil {
		return fmt.Errorf("history in namespace %s: %w", c.o.Namespace, err)
	}
	if err := p.listNamespaces(ctx); err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	for _, resource := range []promote.Resource{promote.Secrets, promote.ConfigMaps} {
		if err := p.through(ctx, resource); err != nil {
			return err
		}
	}
	for i, o := range p.candidates {
		if err := p.one(ctx, o); err != nil {
			return err
		}
		if i%savedEvery == savedEvery-1 {
			if err := p.history.save(ctx); err != nil {
				return err
			}
		}
	}
	p.history.dropUnseen()
	return p.history.save(ctx)
}

func (p *pass) listNamespaces(ctx context.Context) error {
	options := metav1.ListOptions{}
	if p.o.Namespaces != nil {
		options.LabelSelector = p.o.Namespaces.String()
	}
	return p.pages(ctx, "namespaces", "", options, func(meta metav1.ObjectMeta) {
		p.namespaces[meta.Name] = meta
	})
}

func (p *pass) through(ctx context.Context, resource promote.Resource) error {
	options := metav1.ListOptions{}
	if resource == promote.Secrets {
		options.FieldSelector = foreignTypes
	}
	where := []string{metav1.NamespaceAll}
	if p.o.Namespaces != nil && !p.o.Namespaces.Empty() {
		where = where[:0]
		for name := range p.namespaces {
			where = append(where, name)
		}
	}
	for _, namespace := range where {
		err := p.pages(ctx, string(resource), namespace, options, func(meta metav1.ObjectMeta) {
			if _, ours := p.namespaces[meta.Namespace]; ours {
				p.first(promote.Object{Resource: resource, Meta: meta, Namespace: p.namespaces[meta.Namespace]})
			}
		})
		if err != nil {
			return fmt.Errorf("%s: %w", resource, err)
		}
	}
	return nil
}

func (p *pass) pages(ctx context.Context, resource, namespace string, options metav1.ListOptions, each func(metav1.ObjectMeta)) error {
	options.Limit = pageSize
	client := p.metadata.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource}).Namespace(namespace)
	for {
		if err := p.reads.Wait(ctx); err != nil {
			return err
		}
		list, err := client.List(ctx, options)
		if err != nil {
			return err
		}
		for _, item := range list.Items {
			each(item.ObjectMeta)
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return nil
		}
	}
}

// first judges an object by its metadata.
func (p *pass) first(o promote.Object) {
	p.count(func(n *Counts) { n.Seen++ })
	if v := p.judge(o); v.Needs == "" {
		p.refuse(o, v)
		return
	}
	m := o.Meta
	o.Meta = metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
	p.candidates = append(p.candidates, o)
}

// one judges a candidate with as few requests as will do. Errors of one object are
// logged; the one returned ends the pass.
func (p *pass) one(ctx context.Context, o promote.Object) error {
	remembered, same := p.history.recall(o)
	if same && remembered.Rule != "" {
		p.refused(remembered.Rule)
		return nil
	}
	if same {
		if p.o.Now().Sub(remembered.seen()) < p.o.MinAge {
			p.refused(promote.RuleAge)
			return nil
		}
		// Unused ones are not read again in each pass.
		use, err := p.uses.look(ctx, o)
		if err != nil {
			return p.failed(ctx, o, fmt.Errorf("look who uses it: %w", err))
		}
		if use.Pods == 0 {
			p.refused(promote.RuleUnused)
			return nil
		}
	}
	read, err := p.read(ctx, o)
	if err != nil || read == nil {
		return p.failed(ctx, o, err)
	}
	o = *read
	v := p.judge(o)
	if v.Needs == promote.NeedsAge {
		since, room := p.history.observe(o, p.o.Now())
		if !room {
			p.count(func(n *Counts) { n.Forgotten++ })
			return nil
		}
		o.UnchangedSince = since
		v = p.judge(o)
	} else if !v.Promote {
		p.history.settle(o, v.Rule)
	}
	if v.Needs == promote.NeedsUse {
		use, err := p.uses.look(ctx, o)
		if err != nil {
			return p.failed(ctx, o, fmt.Errorf("look who uses it: %w", err))
		}
		o.Use = &use
		v = p.judge(o)
	}
	if !v.Promote {
		p.refuse(o, v)
		return nil
	}
	if p.o.Judged != nil {
		p.o.Judged(o, v)
	}
	return p.act(ctx, o, v)
}

func (p *pass) refuse(o promote.Object, v promote.Verdict) {
	p.refused(v.Rule)
	p.o.Log.Debug("not promoted", "resource", o.Resource, "namespace", o.Meta.Namespace, "name", o.Meta.Name, "rule", v.Rule, "reason", v.Reason)
}

func (p *pass) judge(o promote.Object) promote.Verdict {
	return promote.Judge(o, promote.Policy{Now: p.o.Now(), MinAge: p.o.MinAge, Owners: p.o.Owners, Namespace: p.o.Namespace})
}

// failed ends the pass only if the context has ended.
func (p *pass) failed(ctx context.Context, o promote.Object, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		p.count(func(n *Counts) { n.Failed++ })
		p.o.Log.Warn("failed", "resource", o.Resource, "namespace", o.Meta.Namespace, "name", o.Meta.Name, "error", err)
	}
	return nil
}

// seen is when the content of a record was first seen.
func (r record) seen() time.Time { return time.Unix(r.Since, 0) }
