package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nodekeeper/nodekeeper/test/node"
)

// call is one request to the API server as an administrator.
func (s *scene) call(method, path, contentType, body string) (int, []byte, error) {
	request, err := http.NewRequestWithContext(s.ctx, method, node.APIURL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", contentType)
	client := s.box.APIClient()
	client.Timeout = 20 * time.Second // a network that was gone is found again then
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// object is one that is to be created.
type object struct{ path, yaml string }

func namespaced(namespace, resource, yaml string) object {
	return object{"/api/v1/namespaces/" + namespace + "/" + resource, yaml}
}

// create creates an object that may be there already.
func (s *scene) create(o object) error {
	status, answer, err := s.call(http.MethodPost, o.path, "application/yaml", o.yaml)
	if err == nil && status != http.StatusCreated && status != http.StatusConflict {
		err = fmt.Errorf("create at %s: status %d: %s", o.path, status, answer)
	}
	return err
}

// createAll creates objects, a few at a time.
func (s *scene) createAll(objects []object) {
	s.Helper()
	var wg sync.WaitGroup
	next := make(chan object)
	for range 4 {
		wg.Go(func() {
			for o := range next {
				if err := s.create(o); err != nil {
					s.Error(err)
				}
			}
		})
	}
	for _, o := range objects {
		next <- o
	}
	close(next)
	wg.Wait()
	if s.Failed() {
		s.FailNow()
	}
}

// patch merges into an object.
func (s *scene) patch(path, patch string) error {
	status, answer, err := s.call(http.MethodPatch, path, "application/merge-patch+json", patch)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("patch %s: status %d: %s", path, status, answer)
	}
	return err
}

func (s *scene) remove(path string) error {
	status, answer, err := s.call(http.MethodDelete, path, "application/json", "")
	if err == nil && status != http.StatusOK && status != http.StatusAccepted && status != http.StatusNotFound {
		err = fmt.Errorf("delete %s: status %d: %s", path, status, answer)
	}
	return err
}

// namespace is one with the account that every pod has.
func namespace(name string) []object {
	return []object{
		{"/api/v1/namespaces", fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", name)},
		namespaced(name, "serviceaccounts", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default}\n"),
	}
}

// mount is an object that a pod mounts at /mnt/NAME; its value is its name, or
// what was written since.
type mount struct {
	secret, immutable, optional bool
	name                        string
}

func (m mount) object(namespace string) object {
	resource, text := "configmaps", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\nimmutable: %t\ndata: {value: %[1]q}\n"
	if m.secret {
		resource, text = "secrets", "apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\nimmutable: %t\nstringData: {value: %[1]q}\n"
	}
	return namespaced(namespace, resource, fmt.Sprintf(text, m.name, m.immutable))
}

// volume is the name of the pod's volume.
func (m mount) volume() string { return strings.ReplaceAll(m.name, ".", "-") }

func pod(namespace, name string, of ...mount) object {
	var mounts, volumes []string
	for _, m := range of {
		mounts = append(mounts, fmt.Sprintf("{name: %s, mountPath: /mnt/%s}", m.volume(), m.name))
		source := fmt.Sprintf("configMap: {name: %s, optional: %t}", m.name, m.optional)
		if m.secret {
			source = fmt.Sprintf("secret: {secretName: %s, optional: %t}", m.name, m.optional)
		}
		volumes = append(volumes, fmt.Sprintf("{name: %s, %s}", m.volume(), source))
	}
	return namespaced(namespace, "pods", fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  nodeName: node1
  hostNetwork: true
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: localhost/nodekeeper/workload:latest
    imagePullPolicy: Never
    volumeMounts: [%s]
  volumes: [%s]
`, name, strings.Join(mounts, ", "), strings.Join(volumes, ", ")))
}

// workload is pods with Secrets and ConfigMaps of their own, in one namespace.
type workload struct {
	namespace                   string
	pods                        int
	immutableSecrets, configMap int // of each pod
}

// mounts are those of one pod: imm-POD-N and cm-POD-N.
func (w workload) mounts(p int) []mount {
	var out []mount
	for i := range w.immutableSecrets {
		out = append(out, mount{name: fmt.Sprintf("imm-%d-%d", p, i), secret: true, immutable: true})
	}
	for i := range w.configMap {
		out = append(out, mount{name: fmt.Sprintf("cm-%d-%d", p, i)})
	}
	return out
}

// pod is pod pP with all that it mounts, itself last.
func (w workload) pod(p int) []object {
	var out []object
	for _, m := range w.mounts(p) {
		out = append(out, m.object(w.namespace))
	}
	return append(out, pod(w.namespace, fmt.Sprint("p", p), w.mounts(p)...))
}

// apply makes a workload and waits until all of its pods run.
func (s *scene) apply(w workload) {
	s.Helper()
	for _, o := range namespace(w.namespace) {
		s.must(s.create(o), "make a namespace")
	}
	var before, pods []object
	for p := range w.pods {
		all := w.pod(p)
		before, pods = append(before, all[:len(all)-1]...), append(pods, all[len(all)-1])
	}
	s.createAll(before)
	s.createAll(pods)
	s.eventually(3*time.Minute, fmt.Sprintf("%d pods of %s run", w.pods, w.namespace), func() bool {
		return s.runningPods(w.namespace) == w.pods
	})
}

// runningPods counts what the API server has as running, in one namespace or, if
// that is empty, in all.
func (s *scene) runningPods(namespace string) int { return len(s.podsInPhase(namespace, "Running")) }

func (s *scene) podsInPhase(namespace, phase string) []string {
	path := "/api/v1/pods"
	if namespace != "" {
		path = "/api/v1/namespaces/" + namespace + "/pods"
	}
	status, answer, err := s.call(http.MethodGet, path+"?fieldSelector=status.phase="+phase, "", "")
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	if err != nil || status != http.StatusOK || json.Unmarshal(answer, &list) != nil {
		return nil
	}
	var names []string
	for _, i := range list.Items {
		names = append(names, i.Metadata.Name)
	}
	return names
}

// mounted is what the node's pods have in their volumes, by the volume's name,
// which several pods may have.
func (s *scene) mounted() (map[string][]string, error) {
	root, err := s.box.Path("/var/lib/kubelet/pods")
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(root + "/*/volumes/kubernetes.io~*/*/value")
	if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	for _, file := range files {
		// A pod may go meanwhile.
		if value, err := os.ReadFile(file); err == nil {
			volume := filepath.Base(filepath.Dir(file))
			found[volume] = append(found[volume], string(value))
		}
	}
	return found, nil
}

// flow is pods that come and go while something else happens, a ConfigMap that
// changes, and a look at what is mounted.
type flow struct {
	s    *scene
	stop chan struct{}
	done chan struct{}

	last  workload
	came  int
	wrote int
	saw   int // the highest value seen in the mount
	wrong []string
}

const (
	flowInterval = 6 * time.Second
	flowKept     = 2 // pods that stay
)

// flow begins; before has to be running. Its ConfigMap cm-0-1 is what changes.
func (s *scene) flow(before workload) *flow {
	s.Helper()
	f := &flow{s: s, stop: make(chan struct{}), done: make(chan struct{}), saw: -1,
		last: workload{namespace: "flow", immutableSecrets: 2, configMap: 1}}
	for _, o := range namespace(f.last.namespace) {
		s.must(s.create(o), "make a namespace")
	}
	s.must(f.step(before), "make the first pod")
	go f.run(before) // ends with end
	return f
}

func (f *flow) run(before workload) {
	defer close(f.done)
	tick := time.NewTicker(flowInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-f.stop:
			return
		}
		// It may fail in the middle: what it has done is there the next time.
		_ = f.step(before)
		f.look()
	}
}

// step has one pod come and one go, and changes the ConfigMap.
func (f *flow) step(before workload) error {
	for _, o := range f.last.pod(f.came) {
		if err := f.s.create(o); err != nil {
			return err
		}
	}
	if f.came >= flowKept {
		if err := f.s.remove(fmt.Sprintf("/api/v1/namespaces/flow/pods/p%d", f.came-flowKept)); err != nil {
			return err
		}
	}
	f.came++
	f.wrote++
	return f.s.patch("/api/v1/namespaces/"+before.namespace+"/configmaps/cm-0-1", fmt.Sprintf(`{"data":{"value":"%d"}}`, f.wrote))
}

// look compares what is mounted with what was ever written: every value is its
// object's name, but for the one that changes, which never goes back.
func (f *flow) look() {
	mounted, err := f.s.mounted()
	if err != nil {
		return // the node has other sorrows; the next look tells
	}
	for volume, values := range mounted {
		for _, value := range values {
			if value == volume {
				continue
			}
			n, err := strconv.Atoi(value)
			if volume != "cm-0-1" || err != nil || n > f.wrote || n < f.saw {
				f.wrong = append(f.wrong, fmt.Sprintf("%s holds %q after %d of %d changes were seen", volume, value, f.saw, f.wrote))
				continue
			}
			f.saw = n
		}
	}
}

// end waits until the last pods run, and tells how it went.
func (f *flow) end() {
	f.s.Helper()
	close(f.stop)
	<-f.done
	var want []string
	for n := max(0, f.came-flowKept); n < f.came; n++ {
		want = append(want, fmt.Sprint("p", n))
	}
	f.s.eventually(3*time.Minute, fmt.Sprintf("of %d pods that came, the last %d run", f.came, len(want)), func() bool {
		running := f.s.podsInPhase("flow", "Running")
		return !slices.ContainsFunc(want, func(name string) bool { return !slices.Contains(running, name) })
	})
	f.s.say("a ConfigMap was changed %d times meanwhile, the pod saw change %d last", f.wrote, f.saw)
	for _, w := range f.wrong {
		f.s.Error("wrong content: " + w)
	}
}
