package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/journal"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/status"
	"github.com/nodekeeper/nodekeeper/pkg/agent/statefile/timeline"
)

const (
	// nodesAtOnce is how many nodes are asked at the same time, nodeWait how long
	// one may take.
	nodesAtOnce = 8
	nodeWait    = 2 * time.Minute
)

// clusterObjects are the API's paths of what is nodekeeper's own in a cluster. None
// holds a Secret's or a ConfigMap's content.
var clusterObjects = map[string]string{
	"nodes.json":               "/api/v1/nodes",
	"pods.json":                "/api/v1/namespaces/nodekeeper/pods",
	"events.json":              "/api/v1/namespaces/nodekeeper/events",
	"daemonsets.json":          "/apis/apps/v1/namespaces/nodekeeper/daemonsets",
	"promote-deployments.json": "/apis/apps/v1/namespaces/nodekeeper-promote/deployments",
	"promote-pods.json":        "/api/v1/namespaces/nodekeeper-promote/pods",
	"promote-events.json":      "/api/v1/namespaces/nodekeeper-promote/events",
	"promote-leases.json":      "/apis/coordination.k8s.io/v1/namespaces/nodekeeper-promote/leases",
	"machineconfigpools.json":  "/apis/machineconfiguration.openshift.io/v1/machineconfigpools",
}

// ofCluster collects of a cluster, and of its nodes what their kubelets serve of
// /var/log.
func (p *program) ofCluster(ctx context.Context, all *collection, server *apiServer, nodes []string, o collecting) {
	cluster := all.of("cluster", o.nodeBytes)
	for file, at := range clusterObjects {
		data, err := server.read(ctx, at, maxCollected)
		if err != nil {
			cluster.missing(file, err)
			continue
		}
		cluster.save(file, data)
		switch file {
		case "nodes.json":
			if len(nodes) == 0 {
				nodes = namesOf(data)
			}
		case "promote-pods.json":
			for _, pod := range namesOf(data) {
				log, err := server.read(ctx, "/api/v1/namespaces/nodekeeper-promote/pods/"+pod+"/log?tailLines=20000&limitBytes="+fmt.Sprint(maxCollected/2), maxCollected)
				if err != nil {
					cluster.missing("log of "+pod, err)
				} else {
					cluster.save("promote-logs/"+pod+".txt", log)
				}
			}
		}
	}
	all.join(cluster)

	parts := make([]*collection, len(nodes))
	slots := make(chan struct{}, nodesAtOnce)
	var asked sync.WaitGroup
	for i, node := range nodes {
		parts[i] = all.of("nodes/"+node, o.nodeBytes)
		asked.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, nodeWait)
			defer cancel()
			p.ofNode(ctx, parts[i], &servedFiles{server, path.Join("/api/v1/nodes", node, "proxy/logs")}, o)
		})
	}
	asked.Wait()
	for _, part := range parts {
		all.join(part)
	}
}

func (p *program) ofNode(ctx context.Context, part *collection, logs *servedFiles, o collecting) {
	files := &servedFiles{logs.server, logs.at + "/nodekeeper"}
	for _, name := range []string{status.Name, journal.Name, timeline.Name, timeline.Rotated} {
		data, err := files.server.read(ctx, files.at+"/"+name, maxCollected)
		if err != nil {
			part.missing(name, err)
			continue
		}
		part.save(name, data)
	}
	// Where the kubelet answers queries (enableSystemLogQuery); elsewhere it shows
	// the directory.
	data, err := files.server.read(ctx, logs.at+"/?query=nodekeeper&tailLines="+journalLines, maxCollected)
	if err == nil && strings.HasPrefix(strings.TrimSpace(string(data[:min(len(data), 64)])), "<") {
		err = errors.New("the kubelet answers no queries of its logs (enableSystemLogQuery)")
	}
	if err != nil {
		part.missing("journal.txt", err)
	} else {
		part.save("journal.txt", data)
	}
	part.records(ctx, files, o, p.clock.Now().Wall)
}

// namesOf are the names of the objects of a list that may be used in a path.
func namesOf(list []byte) []string {
	var objects struct {
		Items []struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		} `json:"items"`
	}
	if json.Unmarshal(list, &objects) != nil {
		return nil
	}
	var names []string
	for _, o := range objects.Items {
		if name := o.Metadata.Name; name != "" && !strings.ContainsAny(name, "/?#%") && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	return names
}

// servedFiles are files below /var/log of a node, as its kubelet serves them. They
// are a reader.Files.
type servedFiles struct {
	server *apiServer
	at     string
}

// Open learns the size of a file, so that its end can be read without the rest.
func (s *servedFiles) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	at := s.at + path.Join("/", name)
	answer, err := s.server.get(ctx, at, "bytes=0-0")
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusPartialContent {
		return answer.Body, nil // no ranges, or an empty file
	}
	defer answer.Body.Close()
	var size int64
	if _, err := fmt.Sscanf(answer.Header.Get("Content-Range"), "bytes 0-0/%d", &size); err != nil || size < 0 {
		return nil, fmt.Errorf("%s: the server answered with the range %q", name, answer.Header.Get("Content-Range"))
	}
	return &servedFile{ctx: ctx, of: s, at: at, size: size}, nil
}

// servedFile is an open file. One goroutine at a time may use it.
type servedFile struct {
	ctx    context.Context
	of     *servedFiles
	at     string
	size   int64
	stream io.ReadCloser // of Read, once it was called
}

func (f *servedFile) Size() (int64, error) { return f.size, nil }

func (f *servedFile) Read(p []byte) (int, error) {
	if f.stream == nil {
		answer, err := f.of.server.get(f.ctx, f.at, "")
		if err != nil {
			return 0, err
		}
		f.stream = answer.Body
	}
	return f.stream.Read(p)
}

func (f *servedFile) ReadAt(p []byte, at int64) (int, error) {
	end := min(at+int64(len(p)), f.size)
	if at >= end {
		return 0, io.EOF
	}
	answer, err := f.of.server.get(f.ctx, f.at, fmt.Sprintf("bytes=%d-%d", at, end-1))
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusPartialContent {
		return 0, fmt.Errorf("%s: the server grants ranges no more", f.at)
	}
	n, err := io.ReadFull(answer.Body, p[:end-at])
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (f *servedFile) Close() error {
	if f.stream == nil {
		return nil
	}
	return f.stream.Close()
}
