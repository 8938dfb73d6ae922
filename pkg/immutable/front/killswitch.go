package front

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// killSwitchInterval is how long a kill switch may go unnoticed.
const killSwitchInterval = time.Second

// WatchKillSwitch calls set with whether the file exists: before it returns
// control to a ticking clock for the first time, and whenever that changes,
// until the context ends.
func WatchKillSwitch(ctx context.Context, path string, set func(on bool)) {
	tick := time.NewTicker(killSwitchInterval)
	defer tick.Stop()
	for was := false; ; {
		// A file that cannot be looked at says nothing new.
		_, err := os.Lstat(path)
		if is := err == nil; is != was && (is || errors.Is(err, fs.ErrNotExist)) {
			was = is
			set(is)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
