package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"

	"github.com/spf13/cobra"

	"github.com/nodekeeper/nodekeeper/internal/cli"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/reader"
	"github.com/nodekeeper/nodekeeper/pkg/logretention/view"
)

func (p *plugin) logs() *cobra.Command {
	var logs view.Logs
	var node string
	c := &cobra.Command{
		Use:   "logs [NAMESPACE/]POD [-c NAME] [--crash ID|--previous[=k]|--first|--all]",
		Short: "print the log of a container, of one that has ended too",
		Long: `Print the log of a container: of the attempt that runs, or of the one that ended
last if none does, or of the attempt that is chosen. Flags that kubectl logs has
mean the same here, but lines are lines of the container: what the runtime cut is
joined, and rotated and compressed pieces are read too.

--headers=auto and --escape=auto are yes on a terminal; there are headers also for
several attempts, and where something is missing.

The API server is asked on which node the pod is, unless --node names it: a pod
whose manifest is gone can only be found so, and --crash needs it too.

With -f the node is asked every second or two for what is new, until the attempt
has ended and all of it is shown. If the node or the API server is out of reach
meanwhile, that is said, and the log goes on where it was.`,
		Args: func(_ *cobra.Command, args []string) error { return logs.Arguments(args) },
	}
	logs.Add(c.Flags())
	c.Flags().StringVar(&node, "node", "", "node of the pod")
	c.RunE = cli.Does(func(c *cobra.Command, args []string) error {
		namespace, err := p.namespace(args)
		if err != nil {
			return err
		}
		if err := logs.Complete(append(args, "")[0], namespace, c.Flags()); err != nil {
			return cli.Usage(err)
		}
		switch {
		case node != "" && !isNodeName(node):
			return cli.Usage(fmt.Errorf("%q is no name of a node", node))
		case node == "" && logs.Query.Pod == "":
			return cli.Usage(errors.New("which node? --node NODE"))
		}
		server, err := p.connect()
		if err != nil {
			return err
		}
		if node == "" {
			if node, err = nodeOf(c.Context(), server, logs.Query.Namespace, logs.Query.Pod); err != nil {
				return err
			}
		}
		logs.Options.Now, logs.Options.Poll = p.now, p.poll
		logs.Options.Notice = func(text string) { fmt.Fprintf(p.err, "%s: node %s: %s\n", name, node, cli.Printable(text)) }
		return p.printLogs(c.Context(), &logs, &nodeFiles{cluster: server, node: node, dir: p.dir})
	})
	return c
}

func (p *plugin) printLogs(ctx context.Context, logs *view.Logs, files *nodeFiles) error {
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	index, err := reader.Load(patient, files)
	if err != nil {
		return fmt.Errorf("node %s: %w", files.node, absent(err))
	}
	index.Node = files.node
	attempts, err := logs.Select(index)
	if err != nil {
		return fmt.Errorf("node %s: %w", files.node, err)
	}
	return logs.Print(ctx, p.out, files, attempts)
}

// namespace is that of -n, or of the kubeconfig's context where a pod without a
// namespace is named.
func (p *plugin) namespace(args []string) (string, error) {
	if *p.kube.Namespace != "" || len(args) == 0 || path.Base(args[0]) != args[0] {
		return *p.kube.Namespace, nil
	}
	namespace, _, err := p.kube.ToRawKubeConfigLoader().Namespace()
	return namespace, err
}

// nodeOf asks the API server where a pod is.
func nodeOf(ctx context.Context, server *cluster, namespace, pod string) (string, error) {
	var found struct {
		Spec struct {
			NodeName string `json:"nodeName"`
		} `json:"spec"`
	}
	err := server.decode(ctx, path.Join("/api/v1/namespaces", path.Base(namespace), "pods", path.Base(pod)), nil, &found)
	var r *refusal
	switch {
	case errors.As(err, &r) && r.code == http.StatusNotFound:
		return "", fmt.Errorf("the API server knows no pod %s/%s: name its namespace with -n, or its node with --node", namespace, pod)
	case err != nil:
		return "", fmt.Errorf("look up the node of pod %s/%s (or name it with --node): %w", namespace, pod, err)
	case found.Spec.NodeName == "":
		return "", fmt.Errorf("pod %s/%s is on no node yet", namespace, pod)
	}
	return found.Spec.NodeName, nil
}
