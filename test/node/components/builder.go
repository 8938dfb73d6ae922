package components

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Want says what a box needs beyond kubelet, CRI-O, root and images.
type Want struct {
	// Kubelet is a version that Kubelets names, or its beginning; "" is the
	// default, that of the API server.
	Kubelet string
	// API adds kube-apiserver, kubectl (always built with the kubelet) and etcd.
	API bool
	// Crictl adds crictl.
	Crictl bool
	// Critest adds critest, and what CritestImage needs.
	Critest bool
	// Machine adds what a virtual machine needs: an emulator and a kernel.
	Machine bool
}

// Set is where everything lies. All folders are read-only for boxes.
type Set struct {
	Kubernetes string // kube-apiserver, kubectl, the default kubelet
	Kubelet    string // kubelet of the version wanted
	CRIO       string // crio
	Etcd       string // etcd, or "" when not wanted
	Critools   string // crictl, or "" when not wanted
	Critest    string // critest, or "" when not wanted
	Programs   string // supervise, runtime, conmon, pinns, criproxy, workload, guest
	Root       string // root file system
	Images     string // containers-storage with the images
	Kernel     string // vmlinuz and lib/modules, or "" when not wanted
}

// Builder makes Sets.
type Builder struct {
	cache    string
	source   string // the folder test of the repository
	progress *progress
}

// NewBuilder finds the cache and the repository. Progress goes to out, only
// when there is something to make.
func NewBuilder(out io.Writer) (*Builder, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	source, err := sourceDir()
	if err != nil {
		return nil, err
	}
	return &Builder{cache: cache, source: source, progress: &progress{start: time.Now(), out: out}}, nil
}

// sourceDir looks from the working folder upwards: tests run inside of it.
func sourceDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		for _, candidate := range []string{dir, filepath.Join(dir, "test")} {
			if _, err := os.Stat(filepath.Join(candidate, "components", "kubernetes", "go.mod")); err == nil {
				return candidate, nil
			}
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		return "", fmt.Errorf("the folder test/components of the repository is not above the working folder: run from inside the repository")
	}
}

// Prepare makes what is missing and returns where everything is. It installs
// system packages when it must and can.
func (b *Builder) Prepare(ctx context.Context, want Want) (Set, error) {
	var set Set
	needs := systemNeeds
	if want.Machine {
		needs = slices.Concat(needs, machineNeeds)
	}
	if want.Critest {
		needs = slices.Concat(needs, critestNeeds)
	}
	if err := b.systemPackages(ctx, needs); err != nil {
		return set, err
	}
	// Two at a time: Kubernetes takes longer than all the others together.
	var failures [2]error
	var group sync.WaitGroup
	group.Go(func() { failures[0] = b.prepareKubernetes(ctx, want, &set) })
	group.Go(func() { failures[1] = b.prepareOthers(ctx, want, &set) })
	group.Wait()
	return set, errors.Join(failures[:]...)
}

func (b *Builder) prepareKubernetes(ctx context.Context, want Want, set *Set) error {
	for _, one := range []struct {
		version string
		folder  *string
	}{{"", &set.Kubernetes}, {want.Kubelet, &set.Kubelet}} {
		m, err := b.kubernetes(one.version)
		if err != nil {
			return err
		}
		if *one.folder, err = b.build(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (b *Builder) prepareOthers(ctx context.Context, want Want, set *Set) error {
	var err error
	if set.CRIO, err = b.build(ctx, crio()); err != nil {
		return err
	}
	if want.API {
		if set.Etcd, err = b.build(ctx, etcd()); err != nil {
			return err
		}
	}
	if want.Crictl {
		if set.Critools, err = b.build(ctx, critools()); err != nil {
			return err
		}
	}
	if want.Critest {
		if set.Critest, err = b.build(ctx, critest()); err != nil {
			return err
		}
	}
	if want.Machine {
		if set.Kernel, err = b.kernel(ctx); err != nil {
			return err
		}
	}
	if set.Programs, err = b.programs(ctx); err != nil {
		return err
	}
	if set.Root, err = b.root(ctx); err != nil {
		return err
	}
	set.Images, err = b.images(ctx, filepath.Join(set.Programs, "workload"))
	return err
}
