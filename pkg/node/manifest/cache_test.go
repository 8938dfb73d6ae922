package manifest

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// later makes a reader take all files for old enough to be trusted by identity.
func later(r *Reader) *Reader {
	r.now = func() time.Time { return time.Now().Add(time.Hour) }
	return r
}

func TestAnUnchangedFileIsNotParsedAgain(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "a.yaml", manifestOf("a", "", "1"))
	r := later(NewReader())
	first := onlyPod(t, r.Read(dir, "n"))
	if !r.known[path].settled {
		t.Fatal("an old file is not trusted by its identity")
	}
	if second := onlyPod(t, r.Read(dir, "n")); second.Pod != first.Pod {
		t.Error("the file was parsed again")
	}
}

func TestATouchedFileHasItsNewTimeAndTheSamePod(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "a.yaml", manifestOf("a", "", "1"))
	r := later(NewReader())
	first := onlyPod(t, r.Read(dir, "n"))
	touched := first.Modified.Add(time.Minute).Truncate(time.Second)
	if err := os.Chtimes(path, touched, touched); err != nil {
		t.Fatal(err)
	}
	second := onlyPod(t, r.Read(dir, "n"))
	if second.Pod != first.Pod || !second.Modified.Equal(touched) {
		t.Errorf("modified %s, want %s", second.Modified, touched)
	}
}

func TestAChangeWithinOneTimeStampIsSeen(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "a.yaml", manifestOf("a", "", "1"))
	r := NewReader()
	first := onlyPod(t, r.Read(dir, "n"))
	for i := range 50 {
		content := manifestOf("a", "", string('a'+rune(i%26)))
		write(t, dir, "a.yaml", content) // in place: same inode, same size
		if err := os.Chtimes(path, first.Modified, first.Modified); err != nil {
			t.Fatal(err)
		}
		if m := onlyPod(t, r.Read(dir, "n")); m.Pod.Labels["mark"] != string('a'+rune(i%26)) {
			t.Fatalf("write %d was not seen", i)
		}
	}
}

func TestAReplacedAndARemovedFileAreSeen(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "a.yaml", manifestOf("a", "", "1"))
	r := later(NewReader())
	onlyPod(t, r.Read(dir, "n"))

	if err := os.Rename(write(t, t.TempDir(), "new", manifestOf("b", "", "1")), path); err != nil {
		t.Fatal(err)
	}
	onlyPodOf(t, r.Read(dir, "n"), "default/b-n")

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if intent := r.Read(dir, "n"); len(intent.Pods)+len(intent.Problems) != 0 || intent.Err != nil {
		t.Errorf("after removal: %+v", intent)
	}
	if len(r.known) != 0 {
		t.Errorf("%d files are remembered of an empty directory", len(r.known))
	}
}

func TestAMendedAndABrokenFileAreSeen(t *testing.T) {
	dir := t.TempDir()
	r := later(NewReader())
	write(t, dir, "a.yaml", "broken: [")
	for range 2 {
		if intent := r.Read(dir, "n"); len(intent.Problems) != 1 || len(intent.Pods) != 0 {
			t.Fatalf("broken: %+v", intent)
		}
	}
	write(t, dir, "a.yaml", manifestOf("a", "", "1"))
	onlyPodOf(t, r.Read(dir, "n"), "default/a-n")
}

func TestAnotherNodeNameGivesOtherPods(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", manifestOf("a", "", "1"))
	r := later(NewReader())
	onlyPodOf(t, r.Read(dir, "n"), "default/a-n")
	onlyPodOf(t, r.Read(dir, "m"), "default/a-m")
}

func TestADirectoryIsNotTakenForAnother(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	write(t, one, "a.yaml", manifestOf("a", "", "1"))
	write(t, two, "a.yaml", manifestOf("b", "", "1"))
	r := later(NewReader())
	onlyPodOf(t, r.Read(one, "n"), "default/a-n")
	onlyPodOf(t, r.Read(two, "n"), "default/b-n")
	if _, ok := r.known[filepath.Join(one, "a.yaml")]; ok {
		t.Error("a file of the other directory is still remembered")
	}
}

func TestAnotherKubeletIsAnotherJudge(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", specOf("serviceAccountName: s"))
	r := later(NewReader())
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "doubt"},
		{func() { r.For("1.33.1") }, "taken"},
		{func() { r.For("1.34.1") }, "doubt"},
		{func() { r.Gates(nil, true) }, "refused"},
		{func() { r.Gates(map[string]bool{"PreventStaticPodAPIReferences": false}, true) }, "taken"},
		{func() { r.For("1.37.2") }, "refused"},
		{func() { r.For("") }, "doubt"},
	} {
		step.do()
		for range 2 {
			if got := outcome(r.Read(dir, "n")); got != step.want {
				t.Fatalf("%s, want %s", got, step.want)
			}
		}
	}
}

func TestTheSameKubeletKeepsWhatIsKnown(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", manifestOf("a", "", "1"))
	r := later(readerFor("1.33.1"))
	first := onlyPod(t, r.Read(dir, "n"))
	r.For("1.33.7")
	r.Gates(map[string]bool{}, true)
	if second := onlyPod(t, r.Read(dir, "n")); second.Pod != first.Pod {
		t.Error("the file was parsed again")
	}
}
