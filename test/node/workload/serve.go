package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
)

// serve starts the servers asked for; their ends come on failed.
func (b behaviour) serve(failed chan<- error) {
	if b.listen != "" {
		b.start(b.listen, b.answer, failed)
	}
	if b.silent != "" {
		var requests atomic.Int64
		b.start(b.silent, func(w http.ResponseWriter, r *http.Request) {
			number := int(requests.Add(1))
			if b.silentFirst == 0 || number <= b.silentFirst {
				fmt.Printf("request %d gets no answer\n", number)
				<-r.Context().Done()
				return
			}
			b.answer(w, r)
		}, failed)
	}
}

func (b behaviour) start(address string, handler http.HandlerFunc, failed chan<- error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		failed <- err
		return
	}
	go func() { failed <- http.Serve(listener, handler) }()
}

func (b behaviour) answer(w http.ResponseWriter, _ *http.Request) {
	if b.busyFile != "" {
		if _, err := os.Stat(b.busyFile); err == nil {
			http.Error(w, "busy file found", http.StatusInternalServerError)
			return
		}
	}
	fmt.Fprintln(w, "ok")
}
