package report

// MaxBytes is how large a page is at most.
const MaxBytes = 2_000_000

// Lengths of texts, in bytes.
const (
	// TailBytes is how much of the end of a log is shown.
	TailBytes = 4 << 10
	maxName   = 160
	maxText   = 400
	maxTitle  = 120
)

// bounds are how much of everything a page shows at most.
type bounds struct {
	lanes, services int
	// bands and marks are drawn on a lane, marks of a kind; spans are its words.
	bands, marks, spans int
	// titles is how many bands a lane has at most where each says what it is.
	titles int
	// now, crashes and acts are rows.
	now, crashes, acts int
	// tails are ends of logs, eachTails those of one container: one that crashes
	// all the time leaves room for others.
	tails, eachTails int
	notes            int
}

func generous() bounds {
	return bounds{
		lanes: 60, services: 10, bands: 160, marks: 40, spans: 25, titles: 40,
		now: 60, crashes: 150, acts: 100, tails: 40, eachTails: 8, notes: 12,
	}
}

// half is for sources with which a page has grown too large.
func (b bounds) half() bounds {
	for _, n := range []*int{
		&b.lanes, &b.services, &b.bands, &b.marks, &b.spans, &b.titles, &b.now, &b.crashes, &b.acts, &b.tails, &b.eachTails, &b.notes,
	} {
		*n = max(1, *n/2)
	}
	return b
}
