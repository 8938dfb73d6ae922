package main

import "testing"

func TestScoreOfABundle(t *testing.T) {
	for _, test := range []struct{ config, want string }{
		{`{"process":{"oomScoreAdj":-998,"cwd":"/"}}`, `{"process":{"oomScoreAdj":0,"cwd":"/"}}`},
		{`{"process":{"oomScoreAdj": 7}, "n": 1.50}`, `{"process":{"oomScoreAdj":0}, "n": 1.50}`},
		{`{"process":{"oomScoreAdj":-1},"annotations":{"a":"{\"oomScoreAdj\":-998}"}}`, `{"process":{"oomScoreAdj":0},"annotations":{"a":"{\"oomScoreAdj\":-998}"}}`},
	} {
		if _, ok := wantedScore([]byte(test.config)); !ok {
			t.Errorf("no score in %s", test.config)
		}
		if got := string(withScore([]byte(test.config), 0)); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
	if score, ok := wantedScore([]byte(`{"process":{"cwd":"/"}}`)); ok {
		t.Errorf("score %d where there is none", score)
	}
}
