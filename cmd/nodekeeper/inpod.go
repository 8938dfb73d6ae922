package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// serviceAccountDir is where a pod finds its service account.
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// apiServer is the API server of the cluster whose pod this is, asked with nothing
// but reads. A client of its own, because client-go would be half of the program.
type apiServer struct {
	base   string
	token  string
	client *http.Client
}

// inPod is the API server as client-go's rest.InClusterConfig finds it.
func inPod(getenv func(string) string, dir string) (*apiServer, error) {
	token, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		return nil, fmt.Errorf("service account of the pod: %w", err)
	}
	authority, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("service account of the pod: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s: no certificate", filepath.Join(dir, "ca.crt"))
	}
	return &apiServer{
		base:  "https://" + net.JoinHostPort(getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")),
		token: strings.TrimSpace(string(token)),
		client: &http.Client{Transport: &http.Transport{
			TLSClientConfig:       &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			ResponseHeaderTimeout: 30 * time.Second,
			MaxIdleConnsPerHost:   nodesAtOnce,
		}},
	}, nil
}

// get asks for a path, and for a range of bytes of it if one is named. The caller
// closes the body. What is not there is fs.ErrNotExist.
func (a *apiServer) get(ctx context.Context, at, bytes string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+at, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("Accept", "application/json, */*")
	// A compressed answer has other ranges.
	request.Header.Set("Accept-Encoding", "identity")
	if bytes != "" {
		request.Header.Set("Range", bytes)
	}
	answer, err := a.client.Do(request)
	if err != nil {
		return nil, err
	}
	switch answer.StatusCode {
	case http.StatusOK, http.StatusPartialContent:
		return answer, nil
	case http.StatusRequestedRangeNotSatisfiable: // an empty file
		answer.Body.Close()
		answer.Body = http.NoBody
		return answer, nil
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1024))
	err = fmt.Errorf("GET %s: %s: %s", at, answer.Status, oneLine(string(text)))
	if answer.StatusCode == http.StatusNotFound {
		err = fmt.Errorf("%w (%w)", err, fs.ErrNotExist)
	}
	return nil, err
}

// read is the whole of something that may not be larger than the limit.
func (a *apiServer) read(ctx context.Context, at string, limit int64) ([]byte, error) {
	answer, err := a.get(ctx, at, "")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("GET %s: more than %d bytes", at, limit)
	}
	return data, err
}
