package logretention

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodekeeper/nodekeeper/pkg/logretention/podlogs"
)

// rotor is a log that is rotated after each list of its files but the first so
// many.
type rotor struct {
	*testing.T
	dir     string
	spared  int
	lists   int
	rotated byte
}

func newRotor(t *testing.T, spared int) *rotor {
	r := &rotor{T: t, dir: filepath.Join(t.TempDir(), "pods", "kube-system_etcd_uid1", "etcd"), spared: spared}
	r.must(os.MkdirAll(r.dir, 0o755))
	r.put("0.log.20261130-090000", "0")
	r.put("0.log", "1")
	return r
}

func (r *rotor) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rotor) put(name, text string) {
	r.Helper()
	r.must(os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o640))
}

func (r *rotor) list() ([]podlogs.File, error) {
	files, err := podlogs.Files(r.dir)
	if r.lists++; r.lists > r.spared {
		r.rotated++
		live := filepath.Join(r.dir, "0.log")
		r.must(os.Rename(live, live+".20261130-09000"+string('0'+r.rotated)))
		r.put("0.log", string('1'+r.rotated))
	}
	return files, err
}

// names are those that are sure to follow each other without a hole.
func (r *rotor) names() (names []string) {
	r.Helper()
	pieces, sure, err := openFiles(r.dir, r.list)
	r.must(err)
	for i, p := range pieces {
		if i < sure {
			names = append(names, p.Name)
		}
		r.must(p.src.Close())
	}
	return names
}

func TestALogThatIsNotRotatedIsOpenedAsItIs(t *testing.T) {
	want := []string{"0.log.20261130-090000", "0.log"}
	if diff := cmp.Diff(want, newRotor(t, 2).names()); diff != "" {
		t.Error(diff)
	}
}

// The file that was being written when the list was made is another one when
// it is opened: the new one must not be kept before the old one.
func TestALogThatIsRotatedBetweenListAndOpenIsOpenedUpToThere(t *testing.T) {
	r := newRotor(t, 0)
	want := []string{"0.log.20261130-090000", "0.log.20261130-090001", "0.log.20261130-090002", "0.log.20261130-090003", "0.log.20261130-090004"}
	got := r.names()
	if len(got) == 0 || !cmp.Equal(want[:min(len(got), len(want))], got) {
		t.Errorf("sure of %q, want the start of %q", got, want)
	}
	if r.lists != openTries+1 {
		t.Errorf("%d lists", r.lists)
	}
}

func TestAFileThatIsGoneWhenItIsOpenedEndsWhatIsSure(t *testing.T) {
	r := newRotor(t, 100)
	got, sure, err := openFiles(r.dir, func() ([]podlogs.File, error) {
		return []podlogs.File{{Name: "0.log.20261130-090000", Rotated: "0.log.20261130-090000"},
			{Name: "0.log.20261130-090001", Rotated: "0.log.20261130-090001"}, {Name: "0.log"}}, nil
	})
	r.must(err)
	for _, p := range got {
		r.must(p.src.Close())
	}
	if len(got) != 2 || sure != 1 {
		t.Errorf("%d pieces, sure of %d", len(got), sure)
	}
}
