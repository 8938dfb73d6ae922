package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const head = "apiVersion: nodekeeper.io/v1alpha1\nkind: Configuration\n"

func TestAnEmptyConfigurationIsTheDefault(t *testing.T) {
	for _, text := range []string{head, "---\n" + head + "...\n", "# a comment\n" + head} {
		got, err := Parse("config.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if diff := cmp.Diff(Default(), got); diff != "" {
			t.Errorf("%q: default (-) and parsed (+) differ:\n%s", text, diff)
		}
	}
}

func TestWhatIsWrittenReplacesTheDefault(t *testing.T) {
	got, err := Parse("config.yaml", []byte(head+`
interval: 2s
kubelet:
  config: [/etc/kubelet.yaml]
  restartCommand: [/usr/bin/supervise, restart, kubelet]
  featureGates: {PodsAPI: true, Other: false}
  nodeName: "007"
runtime:
  ociRuntimes:
    - crun
restart:
  looks: 5
  dryRun: true
  jitter: 0
  steps:
    stopSandbox:
      enabled: false
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Interval.Duration = 2 * time.Second
	want.Kubelet.Config = []string{"/etc/kubelet.yaml"}
	want.Kubelet.RestartCommand = []string{"/usr/bin/supervise", "restart", "kubelet"}
	want.Kubelet.FeatureGates = map[string]bool{"PodsAPI": true, "Other": false}
	want.Kubelet.NodeName = "007"
	want.Runtime.OCIRuntimes = []string{"crun"}
	want.Restart.Looks, want.Restart.DryRun, want.Restart.Jitter.Duration = 5, true, 0
	want.Restart.Steps.StopSandbox.Enabled = false
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
}

func TestErrorsNameFileLineAndField(t *testing.T) {
	for text, want := range map[string]string{
		"restart: {looks: 0}":                          "config.yaml:3: restart.looks: must be at least 1, not 0",
		"restart:\n  looks: three":                     `config.yaml:4: restart.looks: must be a whole number, not "three"`,
		"restart:\n  looks: 1.5":                       `config.yaml:4: restart.looks: must be a whole number, not "1.5"`,
		"restart:\n  looks: 99999999999999999999":      `config.yaml:4: restart.looks: must be a whole number, not "99999999999999999999"`,
		"restart:\n  lokks: 3":                         "config.yaml:4: restart.lokks: unknown field; did you mean restart.looks?",
		"restart:\n  Looks: 3":                         "config.yaml:4: restart.Looks: unknown field; did you mean restart.looks?",
		"breakerReset: 1h":                             "config.yaml:3: breakerReset: unknown field; did you mean restart.breakerReset?",
		"directories:\n  somethingElse: /":             "config.yaml:4: directories.somethingElse: unknown field; known here are run, state, log",
		"interval: 5":                                  `config.yaml:3: interval: must be a duration with its unit, such as 90s, 5m or 1h30m, not "5"`,
		"interval: [5s]":                               "config.yaml:3: interval: must be a duration with its unit, such as 90s, 5m or 1h30m",
		"interval: 500ms":                              "config.yaml:3: interval: must be between 1s and 1m, not 500ms",
		"interval:":                                    "config.yaml:3: interval: has no value; write one, or remove the line for the default",
		"interval: 5s\nkubelet: {}\ninterval: 6s":      "config.yaml:5: interval: is written twice, first on line 3; remove one",
		"kubelet:\n  nodeName: 007":                    `config.yaml:4: kubelet.nodeName: must be text; put it in quotes if it looks like a number, not "007"`,
		"kubelet:\n  config: /etc/x":                   "config.yaml:4: kubelet.config: must be a list, as in [a, b]",
		"kubelet:\n  config:\n  - /a\n  - b":           `config.yaml:6: kubelet.config[1]: must be an absolute path, not "b"`,
		"kubelet:\n  config:\n  - /a\n  - {}":          "config.yaml:6: kubelet.config[1]: must be text; put it in quotes if it looks like a number",
		"kubelet: [a]":                                 "config.yaml:3: kubelet: must hold fields, one on a line as name: value",
		"kubelet:\n  featureGates:\n    PodsAPI: yes":  `config.yaml:5: kubelet.featureGates.PodsAPI: must be true or false, not "yes"`,
		"kubelet: &a {}\nruntime: *a":                  "config.yaml:3: kubelet: anchors and aliases are not read; write the value itself\nconfig.yaml:4: runtime: anchors and aliases are not read; write the value itself",
		"kubelet:\n  <<: {unit: x}":                    "config.yaml:4: kubelet: a field's name must be a plain word",
		"? [a]\n: b":                                   "config.yaml:3: a field's name must be a plain word",
		"kubelet:\n  clientKey: /k":                    "config.yaml:3: kubelet.clientCertificate: must be set with kubelet.clientKey; it may be the same file",
		"restart: {steps: {stopContainer: {gap: 2h}}}": "config.yaml:3: restart.steps.stopContainer.gapMax: must not be less than gap: 1h is less than 2h",
		"---\nkind: Configuration":                     "config.yaml:3: a second document begins here; write one only",
		"restart: {":                                   "config.yaml:3: is not YAML, here or on the line after: did not find expected node content",
		"\tinterval: 5s":                               "config.yaml:2: is not YAML, here or on the line after: found a tab character that violates indentation",
	} {
		_, err := Parse("config.yaml", []byte(head+text+"\n"))
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestTheFormatMustBeNamed(t *testing.T) {
	for text, want := range map[string]string{
		"": "c:1: apiVersion: is missing; write apiVersion: nodekeeper.io/v1alpha1\n" +
			"c:1: kind: is missing; write kind: Configuration",
		"# nothing\n": "c:1: apiVersion: is missing; write apiVersion: nodekeeper.io/v1alpha1\n" +
			"c:1: kind: is missing; write kind: Configuration",
		"kind: Configuration":                               "c:1: apiVersion: is missing; write apiVersion: nodekeeper.io/v1alpha1",
		"apiVersion: nodekeeper.io/v1\nkind: Configuration": `c:1: apiVersion: must be nodekeeper.io/v1alpha1, not "nodekeeper.io/v1"`,
		"apiVersion: nodekeeper.io/v1alpha1\nkind: Pod":     `c:2: kind: must be Configuration, not "Pod"`,
	} {
		if _, err := Parse("c", []byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestAllErrorsAreReportedInOrderOfLines(t *testing.T) {
	_, err := Parse("c", []byte(head+`interval: never
restart:
  looks: 0
  rejectedGaps: [5m, 1m, soon]
kubelets: {}
runtime:
  socket: unix:///run/crio/crio.sock
  ociRuntimes: []
`))
	var all Errors
	if !errors.As(err, &all) {
		t.Fatalf("got %v, want Errors", err)
	}
	var got []string
	for _, e := range all {
		got = append(got, e.Field)
	}
	want := []string{"interval", "restart.looks", "restart.rejectedGaps[2]", "restart.rejectedGaps[1]", "kubelets", "runtime.socket", "runtime.ociRuntimes"}
	// the two of one line come in the order in which they are found
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields, want (-) and got (+):\n%s\n%v", diff, err)
	}
	var one FieldError
	if !errors.As(err, &one) || one.Line != 3 || one.File != "c" {
		t.Errorf("the first error is %+v", one)
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if _, err := Load(path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("without a file: %v", err)
	}
	write(t, path, head+"interval: 7s\n")
	if c, err := Load(path); err != nil || c.Interval.Duration != 7*time.Second {
		t.Errorf("got %v, %v", c.Interval, err)
	}
	write(t, path, head+"interval: 0s\n")
	if _, err := Load(path); err == nil || !strings.HasPrefix(err.Error(), path+":3: interval: ") {
		t.Errorf("got error %v", err)
	}
	write(t, path, head+strings.Repeat("# filler\n", maxFile/8))
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a huge file: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestALongListOfErrorsIsFound(t *testing.T) {
	items := strings.Repeat("a,", 30000)
	before := computed(t)
	_, err := Parse("c", []byte(head+"restart: {rejectedGaps: ["+items+"]}"))
	var all Errors
	if !errors.As(err, &all) || len(all) != 30000 {
		t.Errorf("got %d errors, want one for each item", len(all))
	}
	if took := computed(t) - before; took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

// computed is the processor time of this process so far. Unlike time it does
// not pass while other processes run.
func computed(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(head))
	f.Add([]byte(head + "interval: 5s\nrestart: {rejectedGaps: [1m, 2m], steps: {stopContainer: {gap: 1h}}}\n"))
	f.Add([]byte(head + "kubelet: &a {featureGates: {A: true}}\nruntime: *a\n<<: *a\n? [x]\n: y\n---\nb"))
	f.Add([]byte("\xff\xfe- a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("c", data)
		if err == nil {
			if wrong := Validate(c); wrong != nil {
				t.Errorf("parsed and not valid: %v", wrong)
			}
			return
		}
		var all Errors
		if !errors.As(err, &all) || len(all) == 0 {
			t.Errorf("an error without a field error: %v", err)
		}
		for _, e := range all {
			if e.File != "c" || e.Message == "" || e.Line < 0 {
				t.Errorf("%+v", e)
			}
		}
	})
}
