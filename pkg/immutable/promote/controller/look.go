package controller

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodekeeper/nodekeeper/pkg/immutable/promote"
)

// read gets an object's content and the metadata that goes with it; nil if it is
// gone, or another by now.
func (p *pass) read(ctx context.Context, o promote.Object) (*promote.Object, error) {
	if err := p.reads.Wait(ctx); err != nil {
		return nil, err
	}
	p.count(func(n *Counts) { n.Read++ })
	uid := o.Meta.UID
	switch o.Resource {
	case promote.Secrets:
		s, err := p.core.Secrets(o.Meta.Namespace).Get(ctx, o.Meta.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		o.Meta, o.Content = s.ObjectMeta, promote.ContentOfSecret(s)
	case promote.ConfigMaps:
		c, err := p.core.ConfigMaps(o.Meta.Namespace).Get(ctx, o.Meta.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		o.Meta, o.Content = c.ObjectMeta, promote.ContentOfConfigMap(c)
	}
	if o.Meta.UID != uid {
		return nil, nil
	}
	return &o, nil
}

// uses is who uses the objects of one namespace, the last one asked about: lists
// come in the order of namespaces.
type uses struct {
	of        *pass
	namespace string
	pods      map[promote.Resource]map[string]promote.Use
	accounts  map[string]string // by Secret
}

func (u *uses) look(ctx context.Context, o promote.Object) (promote.Use, error) {
	if u.namespace != o.Meta.Namespace {
		if err := u.list(ctx, o.Meta.Namespace); err != nil {
			return promote.Use{}, err
		}
	}
	use := u.pods[o.Resource][o.Meta.Name]
	if o.Resource == promote.Secrets {
		use.PullSecretOf = u.accounts[o.Meta.Name]
	}
	return use, nil
}

func (u *uses) list(ctx context.Context, namespace string) error {
	u.namespace = ""
	u.pods = map[promote.Resource]map[string]promote.Use{promote.Secrets: {}, promote.ConfigMaps: {}}
	u.accounts = map[string]string{}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		if err := u.of.reads.Wait(ctx); err != nil {
			return err
		}
		list, err := u.of.core.Pods(namespace).List(ctx, options)
		if err != nil {
			return err
		}
		for i := range list.Items {
			u.add(&list.Items[i])
		}
		if options.Continue = list.Continue; options.Continue == "" {
			break
		}
	}
	accounts, err := u.of.core.ServiceAccounts(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, account := range accounts.Items {
		for _, pull := range account.ImagePullSecrets {
			u.accounts[pull.Name] = account.Name
		}
		for _, secret := range account.Secrets {
			u.accounts[secret.Name] = account.Name
		}
	}
	u.namespace = namespace
	return nil
}

// add counts a pod once for each object. One that has ended holds nothing.
func (u *uses) add(pod *corev1.Pod) {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return
	}
	reloaded, checksummed := false, false
	for key := range pod.Annotations {
		reloaded = reloaded || strings.Contains(key, "reloader.stakater.com/")
		checksummed = checksummed || strings.HasPrefix(key, "checksum/")
	}
	counted := map[promote.Resource]map[string]bool{promote.Secrets: {}, promote.ConfigMaps: {}}
	promote.References(pod, func(resource promote.Resource, name string) {
		if counted[resource][name] {
			return
		}
		counted[resource][name] = true
		use := u.pods[resource][name]
		use.Pods++
		if reloaded {
			use.Reloaded = pod.Name
		}
		if checksummed {
			use.Checksummed = pod.Name
		}
		u.pods[resource][name] = use
	})
}
