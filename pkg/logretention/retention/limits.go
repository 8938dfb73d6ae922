package retention

import (
	"time"

	"github.com/nodekeeper/nodekeeper/pkg/config"
)

// Limits are the settings, in bytes and numbers. All sizes are of the disk.
type Limits struct {
	// MaxUse is the most that all records may take.
	MaxUse int64
	// KeepFree is what the file system should have left. Below it the records
	// get by with less: see Allowed.
	KeepFree int64
	MaxAge   time.Duration
	// MaxRecords is the most records in all.
	MaxRecords int
	// KeepFreeInodes is KeepFree, of inodes, in percent: file systems of many
	// small files run out of those first.
	KeepFreeInodes int
	// MaxBytesPerRecord is the most of one record's log.
	MaxBytesPerRecord int64
	First, Last       int
	Generations       int
}

// keepFreeInodes stays above the kubelet's nodefs.inodesFree threshold of 5
// (kubelet pkg/kubelet/eviction/defaults_linux.go).
const keepFreeInodes = 8

// For are the limits that settings mean on a file system of so many bytes;
// fsBytes of 0 stands for an unknown size.
func For(r config.Retention, fsBytes int64) Limits {
	l := Limits{
		MaxUse:            r.MaxUse.Bytes(),
		KeepFree:          percent(fsBytes, r.KeepFreePercent),
		MaxAge:            r.MaxAge.Duration,
		MaxRecords:        r.MaxRecords,
		KeepFreeInodes:    min(r.KeepFreePercent, keepFreeInodes),
		MaxBytesPerRecord: r.MaxBytesPerRecord.Bytes(),
		First:             r.First,
		Last:              r.Last,
		Generations:       r.Generations,
	}
	if share := percent(fsBytes, r.MaxUsePercent); fsBytes > 0 && share < l.MaxUse {
		l.MaxUse = share
	}
	return l
}

// Allowed is how much of so many bytes may be taken where so much is free: all
// with KeepFree or more, nothing with half of it or less, and in between in
// proportion. A disk of a node is often nearly full, of images that the kubelet
// removes once 85 % are used: then some small logs must not be what goes, nor
// may large ones bring the disk to where pods are evicted.
func (l Limits) Allowed(of, free int64) int64 {
	none := l.KeepFree / 2
	switch {
	case free >= l.KeepFree:
		return of
	case free <= none:
		return 0
	}
	return int64(float64(of) * float64(free-none) / float64(l.KeepFree-none))
}

func percent(n int64, p int) int64 { return n/100*int64(p) + n%100*int64(p)/100 }

// Disk is the state of the file system.
type Disk struct {
	// Free is what is left to unprivileged users, which is what the kubelet
	// looks at.
	Free, Size         int64
	FreeInodes, Inodes int64
}
