package reader

// start is where reading begins for each stream, as positions of records: the
// last lines of one stream may begin far before those of the other. The zero
// value wants everything.
type start struct {
	set bool
	at  [streams]position
}

// position is a span and an offset in its segment's text.
type position struct {
	span   int
	offset int64
}

func (p position) less(q position) bool {
	return p.span < q.span || (p.span == q.span && p.offset < q.offset)
}

// wants tells whether a record is shown.
func (s *start) wants(of stream, span int, offset int64) bool {
	return !s.set || !(position{span, offset}).less(s.at[of])
}

// earliest is the first record of all that is wanted.
func (s *start) earliest() position {
	p := s.at[0]
	for _, q := range s.at[1:] {
		if q.less(p) {
			p = q
		}
	}
	return p
}

// offset is where a span has to be read from.
func (s *start) offset(span int) int64 {
	if p := s.earliest(); s.set && p.span == span {
		return p.offset
	}
	return 0
}
