package machineconfig

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

const image = "registry.example.com:5000/nodekeeper/nodekeeper@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// everything is all that can be asked for.
func everything(role string, step Step) Options {
	return Options{Role: role, Image: image, Features: Features(), Step: step}
}

func render(t *testing.T, o Options) map[string]string {
	t.Helper()
	files, err := Render(o)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		if _, twice := out[f.Path]; twice {
			t.Errorf("%s is written twice", f.Path)
		}
		out[f.Path] = string(f.Content)
	}
	return out
}

func TestRenderingTwiceGivesTheSameBytes(t *testing.T) {
	for _, step := range Steps() {
		first, second := render(t, everything("worker", step)), render(t, everything("worker", step))
		if len(first) == 0 || len(first) != len(second) {
			t.Fatalf("%s: %d and %d files", step, len(first), len(second))
		}
		for path, text := range first {
			if second[path] != text {
				t.Errorf("%s: %s differs", step, path)
			}
		}
	}
}

// What is not the pool's is the policy, which is one object for all: it must not
// depend on the pool, or the last one rendered would win.
func TestPoolsShareNothingButThePolicy(t *testing.T) {
	owner := map[string]string{}
	policy := ""
	for _, role := range []string{"master", "worker", "canary"} {
		o := everything(role, Install)
		if role == "master" {
			o.Features = nil
		}
		for path, text := range render(t, o) {
			if path == "node-disruption-policy.yaml" {
				if policy != "" && policy != text {
					t.Errorf("the policy of %s is another one", role)
				}
				policy = text
				continue
			}
			for _, object := range objects(t, path, text) {
				if other := owner[object]; other != "" && other != role {
					t.Errorf("%s is of %s and of %s", object, other, role)
				}
				owner[object] = role
			}
		}
	}
	for _, want := range []string{
		"MachineConfig/99-worker-nodekeeper", "MachineConfig/99-worker-nodekeeper-config", "MachineConfig/99-worker-nodekeeper-proxy",
		"MachineConfig/99-master-nodekeeper", "MachineConfig/99-master-nodekeeper-config", "MachineConfigPool/canary", "PinnedImageSet/nodekeeper-canary",
		"KubeletConfig/nodekeeper-worker", "ConfigMap/99-worker-nodekeeper-config",
	} {
		if owner[want] == "" {
			t.Errorf("%s is not there", want)
		}
	}
	for _, not := range []string{"MachineConfig/99-master-nodekeeper-proxy", "MachineConfigPool/worker", "ConfigMap/99-master-nodekeeper"} {
		if owner[not] != "" {
			t.Errorf("%s is there", not)
		}
	}
}

// objects are the kinds and names in a YAML file.
func objects(t *testing.T, path, text string) []string {
	t.Helper()
	if !strings.HasSuffix(path, ".yaml") {
		return nil
	}
	var object struct {
		Kind     string
		Metadata struct{ Name string }
	}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if object.Kind == "" || object.Metadata.Name == "" {
		t.Fatalf("%s: no kind or no name", path)
	}
	return []string{object.Kind + "/" + object.Metadata.Name}
}

func TestFeaturesAreSwitchedOneByOne(t *testing.T) {
	for name, c := range map[string]struct {
		features          []Feature
		act               bool
		acts, logs, proxy bool
	}{
		"none":         {},
		"restart":      {features: []Feature{Restart}},
		"restart acts": {features: []Feature{Restart}, act: true, acts: true},
		"logs":         {features: []Feature{Logs}, logs: true},
		"proxy":        {features: []Feature{Proxy}, proxy: true},
	} {
		t.Run(name, func(t *testing.T) {
			files := render(t, Options{Role: "worker", Image: image, Features: c.features, Act: c.act})
			cfg := configOf(t, files["butane/99-worker-nodekeeper-config.bu"])
			if cfg.Restart.DryRun == c.acts || cfg.Logs.Enabled != c.logs {
				t.Errorf("dryRun %t, logs %t", cfg.Restart.DryRun, cfg.Logs.Enabled)
			}
			if _, there := files["machineconfigs/99-worker-nodekeeper-proxy.yaml"]; there != c.proxy {
				t.Errorf("proxy: %t", there)
			}
		})
	}
}

func TestSettingsAreTakenAsTheyAre(t *testing.T) {
	settings := "\n\nkind: Configuration\n# with a comment: ${ROLE}\n\napiVersion: nodekeeper.io/v1alpha1\nlogs:\n    journalTail: 4Ki"
	files := render(t, Options{Role: "worker", Image: image, Settings: []byte(settings)})
	text := files["butane/99-worker-nodekeeper-config.bu"]
	if got, want := contentOf(t, text), strings.TrimLeft(settings, "\n")+"\n"; got != want {
		t.Errorf("%q instead of %q", got, want)
	}
}

// contentOf is the content of a source's only file.
func contentOf(t *testing.T, source string) string {
	t.Helper()
	var b butane
	if err := yaml.Unmarshal([]byte(source), &b); err != nil || len(b.Storage.Files) != 1 {
		t.Fatalf("%v: %s", err, source)
	}
	return b.Storage.Files[0].Contents.Inline
}

func configOf(t *testing.T, source string) config.Configuration {
	t.Helper()
	cfg, err := config.Parse("config.yaml", []byte(contentOf(t, source)))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestTheImageIsInOneFileOnly(t *testing.T) {
	for path, text := range render(t, everything("worker", Install)) {
		if strings.HasPrefix(path, "butane/") && strings.Count(text, image) > 1 {
			t.Errorf("%s names the image %d times", path, strings.Count(text, image))
		}
	}
	// So an upgrade changes nothing else.
	before := render(t, everything("worker", Install))
	o := everything("worker", Upgrade)
	o.Image = strings.Replace(image, "0123", "3210", 1)
	after := render(t, o)
	path := "butane/99-worker-nodekeeper.bu"
	if got := strings.Replace(after[path], "3210", "0123", 1); got != before[path] {
		t.Error("more than the image differs")
	}
	for path := range after {
		if strings.HasSuffix(path, "-config.yaml") {
			t.Errorf("an upgrade has %s: it would take back settings", path)
		}
	}
}

// Restarting a unit that is gone degrades a node, so those that the policy
// restarts must be in the inert step too.
func TestUnitsThatThePolicyRestartsAreThereUntilTheEnd(t *testing.T) {
	policy := render(t, everything("worker", Install))["node-disruption-policy.yaml"]
	inert := render(t, Options{Role: "worker", Step: Inert})["butane/99-worker-nodekeeper.bu"]
	leaving := render(t, Options{Role: "worker", Step: Uninstall})["node-disruption-policy.yaml"]
	found := 0
	for line := range strings.Lines(policy) {
		if _, unit, ok := strings.Cut(strings.TrimSpace(line), "serviceName: "); ok {
			found++
			if !strings.Contains(inert, "name: "+unit+"\n") {
				t.Errorf("%s is not in the inert step", unit)
			}
			if !strings.Contains(leaving, "name: "+unit+"\n") {
				t.Errorf("%s is not in the policy for leaving", unit)
			}
		}
	}
	if found != 2 || strings.Contains(leaving, "Restart\n") {
		t.Errorf("%d units; %s", found, leaving)
	}
}

func TestBadOptionsGetOneLineEach(t *testing.T) {
	good := Options{Role: "worker", Image: image, Features: []Feature{Logs}}
	for name, c := range map[string]struct {
		change func(*Options)
		want   []string
	}{
		"no role":               {func(o *Options) { o.Role = "" }, []string{"which pool?"}},
		"role in capitals":      {func(o *Options) { o.Role = "Worker" }, []string{"DNS label"}},
		"role of a path":        {func(o *Options) { o.Role = "../x" }, []string{"DNS label"}},
		"role with a line":      {func(o *Options) { o.Role = "a\nb" }, []string{"DNS label"}},
		"role too long":         {func(o *Options) { o.Role = strings.Repeat("a", 64) }, []string{"DNS label"}},
		"no image":              {func(o *Options) { o.Image = "" }, []string{"which image?"}},
		"image by tag":          {func(o *Options) { o.Image = "registry.example.com/nodekeeper:v1" }, []string{"by its digest"}},
		"tag and digest":        {func(o *Options) { o.Image = strings.Replace(image, "@", ":v1@", 1) }, []string{"without a tag"}},
		"no registry":           {func(o *Options) { o.Image = "nodekeeper" + image[strings.Index(image, "@"):] }, []string{"REGISTRY/NAME"}},
		"short digest":          {func(o *Options) { o.Image = image[:len(image)-1] }, []string{"REGISTRY/NAME"}},
		"image with quote":      {func(o *Options) { o.Image = `x/'y` + image }, []string{"REGISTRY/NAME"}},
		"unknown feature":       {func(o *Options) { o.Features = []Feature{"reboot"} }, []string{"restart, logs, proxy"}},
		"feature twice":         {func(o *Options) { o.Features = []Feature{Logs, Logs} }, []string{"twice"}},
		"act without":           {func(o *Options) { o.Act = true }, []string{"needs the feature restart"}},
		"act, for another step": {func(o *Options) { o.Step, o.Act = Upgrade, true }, []string{"leaves the settings of the nodes alone"}},
		"settings, for another step": {func(o *Options) {
			o.Step, o.Settings = Inert, []byte("kind: Configuration\napiVersion: nodekeeper.io/v1alpha1\n")
		},
			[]string{"render the step install"}},
		"unknown step": {func(o *Options) { o.Step = "remove" }, []string{"install, upgrade, inert, uninstall"}},
		"bad settings": {func(o *Options) {
			o.Settings = []byte("kind: Configuration\napiVersion: nodekeeper.io/v1alpha1\nlog: {}\n")
		}, []string{"log"}},
		"indented settings": {func(o *Options) {
			o.Features, o.Settings = nil, []byte("  kind: Configuration\n  apiVersion: nodekeeper.io/v1alpha1\n")
		},
			[]string{"indented"}},
		"all at once": {func(o *Options) { *o = Options{Features: []Feature{"x"}} }, []string{"pool", "image", "feature"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			c.change(&o)
			files, err := Render(o)
			if err == nil || files != nil {
				t.Fatalf("%d files, %v", len(files), err)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(c.want) {
				t.Fatalf("%d lines instead of %d: %s", len(lines), len(c.want), err)
			}
			for i, want := range c.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("%q does not say %q", lines[i], want)
				}
			}
		})
	}
}

const header = "kind: Configuration\napiVersion: nodekeeper.io/v1alpha1\n"

// Settings that do not say so act: that must not come as a surprise.
func TestTheGuideSaysWhatTheSettingsDo(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"nothing":           {Options{}, "restart in dry run, logs off, proxy off"},
		"delivered":         {Options{Features: []Feature{Restart, Logs}}, "restart in dry run, logs on, proxy off"},
		"all, and acts":     {Options{Features: Features(), Act: true}, "restart ACTS, logs on, proxy on"},
		"sentinels only":    {Options{Settings: []byte(header + "proxy: {sentinels: [kube-root-ca.crt]}\n")}, "restart ACTS, logs on, proxy off"},
		"with the proxy":    {Options{Settings: []byte(header), Features: Features(), Act: true}, "restart ACTS, logs on, proxy on"},
		"in dry run":        {Options{Settings: []byte(header + "restart: {dryRun: true}\n"), DryRun: true}, "restart in dry run, logs on, proxy off"},
		"without logs":      {Options{Settings: []byte(header + "logs: {enabled: false}\n")}, "restart ACTS, logs off, proxy off"},
		"no feature at all": {Options{Settings: []byte(header + "restart: {dryRun: true}\nlogs: {enabled: false}\n"), Features: []Feature{}}, "restart in dry run, logs off, proxy off"},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Role, c.o.Image = "worker", image
			if got, err := c.o.Effect(); err != nil || got != c.want {
				t.Errorf("%q, %v", got, err)
			}
			if guide := render(t, c.o)["README.md"]; !strings.Contains(guide, "On the nodes: "+c.want+".") {
				t.Errorf("%s", guide)
			}
		})
	}
}

func TestWhatContradictsTheSettingsIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		settings string
		o        Options
		want     string
	}{
		"dry run, by default they act":  {"", Options{DryRun: true}, "against --dry-run:"},
		"dry run, they act":             {"restart: {dryRun: false}\n", Options{DryRun: true}, "against --dry-run:"},
		"to act, they do not":           {"restart: {dryRun: true}\n", Options{Act: true}, "against --dry-run=false:"},
		"without restart, they act":     {"", Options{Features: []Feature{Logs}}, "without restart"},
		"without logs, they keep them":  {"", Options{Features: []Feature{Restart}}, "without logs"},
		"with logs, they keep none":     {"logs: {enabled: false}\n", Options{Features: []Feature{Restart, Logs}}, "logs.enabled is false"},
		"a field that does not exist":   {"restart: {dryrun: true}\n", Options{DryRun: true}, "restart.dryrun"},
		"only the proxy, they keep all": {"restart: {dryRun: true}\n", Options{Features: []Feature{Proxy}}, "without logs"},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Role, c.o.Image, c.o.Settings, c.o.SettingsName = "worker", image, []byte(header+c.settings), "/x/s.yaml"
			_, err := Render(c.o)
			if err == nil || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "/x/s.yaml:") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, without %q", err, c.want)
			}
		})
	}
}

// A node that is in the pool is what the wait waits for.
func TestAPoolOfOnesOwnGetsANodeBeforeItIsWaitedFor(t *testing.T) {
	for role, own := range map[string]bool{"canary": true, "worker": false, "master": false} {
		guide := render(t, Options{Role: role, Image: image})["README.md"]
		label, wait := strings.Index(guide, "oc label node NODE node-role.kubernetes.io/"+role+"=\n"), strings.Index(guide, "oc wait")
		if (label >= 0) != own || label > wait {
			t.Errorf("%s: %s", role, guide)
		}
	}
}

func TestAnotherImageBringsTheUnitsOfTheProxyToo(t *testing.T) {
	install, upgrade := render(t, everything("worker", Install)), render(t, everything("worker", Upgrade))
	path := "machineconfigs/99-worker-nodekeeper-proxy.yaml"
	if upgrade[path] == "" || upgrade[path] != install[path] {
		t.Errorf("%s is another one: it would reboot", path)
	}
	without := render(t, Options{Role: "worker", Image: image, Step: Upgrade})
	if without[path] != "" || !strings.Contains(without["README.md"], "--features restart,logs,proxy") {
		t.Errorf("%s", without["README.md"])
	}
}

// A NodePool has nothing but ConfigMaps.
func TestNodePoolsGetTheSameInEachStep(t *testing.T) {
	for _, step := range []Step{Install, Upgrade, Inert} {
		files, seen := render(t, everything("worker", step)), 0
		for path := range files {
			if name, ok := strings.CutPrefix(path, "machineconfigs/"); ok {
				seen++
				if files["hypershift/"+name] == "" {
					t.Errorf("%s: hypershift/%s is not there", step, name)
				}
			}
			if strings.HasPrefix(path, "openshift/") && step != Install {
				t.Errorf("%s: %s is for a cluster that is yet to be installed", step, path)
			}
		}
		if seen == 0 {
			t.Errorf("%s: nothing", step)
		}
	}
}

func TestTooMuchIsRefused(t *testing.T) {
	settings := "kind: Configuration\napiVersion: nodekeeper.io/v1alpha1\n" + strings.Repeat("# more\n", 5000)
	if _, err := Render(Options{Role: "worker", Image: image, Settings: []byte(settings)}); err == nil || !strings.Contains(err.Error(), "shorten the settings") {
		t.Errorf("%v", err)
	}
}

func TestNothingIsLeftToFillIn(t *testing.T) {
	for _, step := range Steps() {
		for path, text := range render(t, everything("canary", step)) {
			if strings.Contains(path, "butane/") {
				continue // scripts have variables
			}
			if value.MatchString(text) || strings.Contains(text, "${include") {
				t.Errorf("%s: %s: %q", step, path, value.FindString(text))
			}
		}
	}
}

func TestASourceWithMoreThanIsTranslatedIsRefused(t *testing.T) {
	whole := "variant: openshift\nversion: 4.13.0\nmetadata: {name: x}\n"
	if _, _, err := translate([]byte(whole)); err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]string{
		"link":          whole + "storage: {links: [{path: /a, target: /b}]}\n",
		"remote file":   whole + "storage: {files: [{path: /a, contents: {source: 'https://example.com'}}]}\n",
		"masked unit":   whole + "systemd: {units: [{name: a.service, mask: true}]}\n",
		"other version": strings.Replace(whole, "4.13", "4.14", 1),
		"two documents": whole + "---\n" + whole,
		"no YAML":       "\t",
	} {
		if _, text, err := translate([]byte(source)); err == nil {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func FuzzRender(f *testing.F) {
	f.Add("worker", image, "kind: Configuration\napiVersion: nodekeeper.io/v1alpha1\n")
	f.Fuzz(func(t *testing.T, role, image, settings string) {
		files, err := Render(Options{Role: role, Image: image, Settings: []byte(settings)})
		if err != nil {
			return
		}
		i := slices.IndexFunc(files, func(f File) bool { return strings.HasSuffix(f.Path, "-config.bu") })
		got := contentOf(t, string(files[i].Content))
		if _, err := config.Parse("config.yaml", []byte(got)); err != nil {
			t.Errorf("good settings became bad: %v", err)
		}
		if !bytes.Contains(files[1].Content, []byte("name: 99-"+role+"-nodekeeper\n")) {
			t.Errorf("%s", files[1].Content)
		}
	})
}
