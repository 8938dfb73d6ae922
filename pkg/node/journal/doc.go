// Package journal reads what a kubelet writes of its own accord: with no view of
// its pods, the only word of its own that there is. It fills node.Told and
// changes nothing.
//
//	Reader      asks at most once in five seconds, and holds the newest of each kind
//	said        which lines are kept, and what they say
//	line        klog's format: text, text of several lines, JSON, MicroShift's prefix
//	journalctl  runs the program; tests put a fake one there
//
// # What is read
//
// The lines were read in the sources of kubelet 1.30.14, 1.31.14, 1.32.13,
// 1.33.13, 1.34.4, 1.35.4, 1.36.3 and 1.37.2. Their text is the same in all but
// where a version is given. "E" is written at every verbosity.
//
//	E   Error syncing pod, skipping                 Pods: each failed sync of a worker (pod_workers.go)
//	V0  Pod admission denied           1.31 on      Pods: rejected, for good (operation=resize is none: 1.36 on)
//	V2  Predicate failed on Pod                     Pods: rejected; 1.30 has no other line of it
//	V0  Failed to admit pod                         Pods: rejected, for another reason than resources and labels
//	E   Could not process manifest file             Manifests: refused; each fileCheckFrequency (20 s) again
//	E   Could not get metadata                      Manifests: as above; also "Manifest path is not a directory or file"
//	E   Unable to process watch event               Manifests: refused as it changed, once: it may have been half written
//	E   Unable to read config path                  Manifests: the directory, or the one file, by its path
//	E   ContainerStatus from runtime service failed Containers: the same error of a container once in 60 s
//	V2  Failed to delete pod                        NotDeleted: its sources aren't ready
//	E   Skipping pod synchronization                no pod is synced: From moves up
//
// # Silence
//
// Neither klog nor the worker leaves out a repetition. A sync of a pod whose
// container is dead and has to run again ends in one of two ways: the container
// is started, so that the runtime has a new attempt, or "Error syncing pod" is
// written. That holds for the crash-loop back-off too: up to 1.32 SyncPod seems
// to pass over it, but the result of ConfigPodSandbox, which has no error, makes
// it an error all the same. The next sync follows
//
//	1.30 - 1.34  10 to 15 s after any error
//	1.35 - 1.37  the same; after a back-off, what is left of it but at most
//	             syncFrequency (60 s), by 1 to 1.5: 90 s
//	all          1 to 1.5 s while the network is not ready; 60 to 90 s after success
//
// So silence about such a pod for more than 90 s (1.5 times syncFrequency), and
// the length of one sync, proves that no sync of it has ended: none begins (its
// worker is gone, waits for another pod of the name, or it was rejected), or one
// does not end. What holds up a sync without a word is an image pull, a postStart
// hook, a preStop hook and the grace of a container that is killed, a status cache
// that stands still, and a call to the API server for the mirror pod. A volume is
// waited for 2 min 3 s, a call to the runtime for runtimeRequestTimeout (2 min);
// both are then told. Silent and right are a pod whose init container runs, one
// that is told to end, one whose phase is final, one whose sandbox is being
// replaced, and a restart of all containers (1.35 on). An image, a hook, a grace
// and a sandbox are to be ruled out by who concludes anything from silence.
//
// Silence is proved from From to Last. After Last it rests on the stream being
// whole: journald tells of lines that it dropped with the next line that it lets
// pass, and a kubelet whose stream broke writes on into the void. A kubelet that
// cannot reach its API server writes each 10 s at any verbosity; one that can may
// be quiet for long.
//
// # NotDeleted
//
// The manifests are compared by UID. A file with another content (not: another
// comment or order) has its old pod removed and then the new one added, in this
// order, whether or not the API source is ready. While it is not, the old one is
// not ended: "Failed to delete pod", "skipping delete because sources aren't ready
// yet". That is so also for a file that was moved away and back, whose worker then
// goes on: so only silence about the pod beside it proves that a new one waits.
// "Pod cannot start yet" is V4.
//
// # Times
//
// At is when journald received a line, which is later than it was written if
// journald was held up. The journal counts without suspended time; a line from
// before a suspend is left out, and From moves up, unless it was read before.
//
// From moves up with all that may be missing: files that were deleted, more lines
// than are read, lines that journald dropped or cut off, and lines that cannot be
// read. The entries of the process's PID in its unit are read; if none of them is
// klog's, those of the whole unit whose header has the PID (a pipe, systemd-cat).
// JSON has no PID: through a pipe it is not known. Of another unit, a file or a
// kubelet without a unit nothing is known.
package journal
