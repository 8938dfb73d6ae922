package main

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// server says how to reach the API server. clientcmd.BuildConfigFromFlags alone
// would warn in klog's form, and outside of a pod advise KUBERNETES_MASTER.
func (s settings) server() (*rest.Config, error) {
	if s.kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("this is no pod of a cluster: name a kubeconfig with --kubeconfig")
		}
		if err != nil {
			return nil, fmt.Errorf("reach the API server as a pod does: %w; or name a kubeconfig with --kubeconfig", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	return config, nil
}
