package config

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Default returns the configuration that an empty file means. The caller owns
// the result.
func Default() Configuration {
	return Configuration{
		APIVersion:  APIVersion,
		Kind:        Kind,
		Interval:    seconds(5),
		LookTimeout: seconds(10),
		Directories: Directories{
			Run:   "/run/nodekeeper",
			State: "/var/lib/nodekeeper",
			Log:   "/var/log/nodekeeper",
		},
		Kubelet: Kubelet{
			Unit: "kubelet.service",
			// kubeadm has a kubeconfig under the name of OpenShift's file, and OpenShift
			// has no file of kubeadm's name.
			Config:        []string{"/var/lib/kubelet/config.yaml", "/etc/kubernetes/kubelet.conf"},
			PodsAPISocket: "/var/lib/kubelet/pods-api/pods-api.sock",
			PodsURL:       "https://127.0.0.1:10250/pods",
			HealthzURL:    "http://127.0.0.1:10248/healthz",
		},
		Runtime: Runtime{
			Unit:        "crio.service",
			Socket:      "/run/crio/crio.sock",
			OCIRuntimes: []string{"runc", "crun"},
			Monitor:     "conmon",
		},
		Restart: defaultRestart(),
		Logs:    defaultLogs(),
		Proxy: Proxy{
			Listen:              "127.0.0.1:6444",
			Kubeconfig:          "/var/lib/kubelet/kubeconfig",
			Derived:             "/run/nodekeeper/kubeconfig",
			Certificates:        "/var/lib/kubelet/pki",
			PreviousCertificate: seconds(600),
			KillSwitch:          "/etc/nodekeeper/proxy.off",
			Grace:               seconds(10),
			Linger:              seconds(120),
			FirstRead:           Duration{Duration: 700 * time.Millisecond},
			Lists:               Lists{PerSecond: 50, Burst: 100, Credit: 2500},
			Watches:             Rate{PerSecond: 20, Burst: 20},
			Revalidate:          seconds(45 * 60),
			MaxStreams:          5000, MaxObjects: 10000,
			MaxBytes: "256Mi", MaxObjectBytes: "2Mi",
		},
		Metrics:  Metrics{Listen: "127.0.0.1:9640"},
		Announce: Announce{Enabled: true, Kubeconfig: "/var/lib/kubelet/kubeconfig"},
	}
}

func defaultLogs() Logs {
	return Logs{
		Enabled:     true,
		PodLogs:     "/var/log/pods",
		Exits:       "/var/run/crio/exits",
		NRISocket:   "/var/run/nri/nri.sock",
		Hook:        Hook{Directory: "/run/containers/oci/hooks.d", Program: "/usr/local/bin/nodekeeper-hook"},
		JournalTail: "2Ki",
		Retention: Retention{
			MaxUse: "2Gi", MaxUsePercent: 5, KeepFreePercent: 20,
			MaxAge: Duration{Duration: 14 * day}, MaxRecords: 500,
			MaxBytesPerRecord: "64Mi", Head: "1Mi",
			First: 2, Last: 5, Generations: 2,
			SeriesEnd: seconds(600), Compress: true,
		},
	}
}

func defaultRestart() Restart {
	return Restart{
		Looks: 3,
		Busy: Busy{
			Units:    []string{"rpm-ostreed.service", "machine-config-daemon-firstboot.service", "machine-config-daemon-pull.service"},
			Programs: []string{"cluster-restore.sh", "cluster-backup.sh", "quorum-restore.sh", "bootupctl"},
		},
		HoldOffs: HoldOffs{
			Boot:           seconds(180),
			KubeletStart:   seconds(180),
			RuntimeStart:   seconds(180),
			ManifestChange: seconds(60),
			ClockStep:      seconds(60),
		},
		Deadlines: Deadlines{
			FirstCrash:     seconds(120),
			BackOffSlack:   seconds(60),
			Blind:          seconds(60),
			StaleRunning:   seconds(30),
			WaitingForOld:  seconds(60),
			TwoGenerations: seconds(120),
			NeverStarted:   seconds(180),
			Rejected:       seconds(60),
			StartFailing:   seconds(600),
			Inverted:       seconds(120),
			KubeletDown:    seconds(60),
			RuntimeDown:    seconds(60),
			HungStart:      seconds(300),
			HungCall:       seconds(10),
		},
		Steps:        defaultSteps(),
		BreakerReset: seconds(6 * 3600),
		RejectedGaps: []Duration{seconds(60), seconds(300), seconds(900), seconds(3600)},
		Jitter:       seconds(30),
	}
}

func defaultSteps() Steps {
	return Steps{
		StopContainer:   Step{Enabled: true, Timeout: seconds(45), Settle: seconds(120), Gap: seconds(60), GapMax: seconds(3600), PerHour: 12},
		RemoveContainer: Step{Enabled: true, Timeout: seconds(45), Settle: seconds(120), Gap: seconds(60), GapMax: seconds(3600), PerHour: 12},
		StopOldSandbox:  Step{Enabled: true, Timeout: seconds(5), Settle: seconds(120), Gap: seconds(60), GapMax: seconds(3600), PerHour: 12},
		RestartKubelet:  Step{Enabled: true, Timeout: seconds(120), Settle: seconds(180), Gap: seconds(300), GapMax: seconds(3600), PerHour: 3, PerDay: 6},
		StopSandbox:     Step{Enabled: true, Timeout: seconds(5), Settle: seconds(180), Gap: seconds(600), GapMax: seconds(3600), PerHour: 2},
		RestartRuntime:  Step{Enabled: true, Timeout: seconds(120), Settle: seconds(300), Gap: seconds(3600), GapMax: seconds(3600), PerHour: 1, PerDay: 2},
		ReplaceManifest: Step{Timeout: seconds(30), Settle: seconds(60), Gap: seconds(60), GapMax: seconds(3600), PerHour: 6},
	}
}

func seconds(n int) Duration {
	return metav1.Duration{Duration: time.Duration(n) * time.Second}
}
