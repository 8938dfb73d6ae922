package reader

import (
	"testing"
)

func TestWriteJoinsAndCrosses(t *testing.T) {
	s := newScene(t)
	e := s.record(1,
		"gz:"+line(1, "stdout", "F", "one")+line(2, "stdout", "P", "tw"),
		line(3, "stdout", "F", "o")+line(4, "stderr", "P", "err")+line(5, "stdout", "F", "three"),
		line(6, "stderr", "F", "or"))
	const whole = "one\ntwo\nerror\nthree\n"
	const stamped = "2026-11-30T12:00:00.001000000Z one\n2026-11-30T12:00:00.002000000Z two\n2026-11-30T12:00:00.004000000Z error\n2026-11-30T12:00:00.005000000Z three\n"
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"all":       {Options{}, whole},
		"stamps":    {Options{Timestamps: true}, stamped},
		"tail 0":    {Options{Tail: ptr(int64(0))}, ""},
		"tail 1":    {Options{Tail: ptr(int64(1))}, "error\n"},
		"tail 2":    {Options{Tail: ptr(int64(2))}, "error\nthree\n"},
		"tail 3":    {Options{Tail: ptr(int64(3))}, "two\nerror\nthree\n"},
		"tail 4":    {Options{Tail: ptr(int64(4))}, whole},
		"tail 5":    {Options{Tail: ptr(int64(5))}, whole},
		"stdout":    {Options{Stream: "stdout", Tail: ptr(int64(2))}, "two\nthree\n"},
		"stderr":    {Options{Stream: "stderr", Prefix: true}, "[kube-system/etcd-node1/etcd#1] error\n"},
		"limit":     {Options{LimitBytes: ptr(int64(6))}, "one\ntw"},
		"since":     {Options{SinceTime: noon.Add(3e6)}, "error\nthree\n"},
		"until":     {Options{Until: noon.Add(4e6)}, "one\ntwo\nerror\n"},
		"raw limit": {Options{Raw: true, LimitBytes: ptr(int64(10))}, "2026-11-30"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := write(t, s.files(), []Attempt{ended(&e)}, c.o); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
