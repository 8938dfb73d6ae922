// Command workload is what runs in the containers of a box. It does nothing
// but what its flags say, and by default lives until TERM.
//
//	--listen :8081          answer HTTP; exit 1 at once when the port is taken
//	--silent-http :8082     accept and never answer the first --silent-first requests
//	--silent-first N        default 1; 0 means all
//	--ignore-term           TERM changes nothing
//	--term-delay D          live on for D after TERM
//	--exit N --after D      exit with N after D (default at once)
//	--exit-file FILE        remove FILE as soon as it exists, and exit 1
//	--busy-file FILE        answer 500 on --listen while FILE exists
//	--touch FILE            make FILE at the start
//	--print D               print a counted line every D
//	--lines N               print N lines at the start
//	--burst MIB             print so many MiB of numbered lines, then go on
//	--burst-rate MIB        at most so many MiB a second; 0 for no limit
//	--allocate MIB          take and touch so much memory after the start
//	--message TEXT          first line printed
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

type behaviour struct {
	listen, silent               string
	silentFirst                  int
	ignoreTerm                   bool
	termDelay, after, printEvery time.Duration
	exitCode, lines              int
	burst, burstRate, allocate   int
	exitFile, busyFile           string
	touch, message               string
}

func main() {
	var b behaviour
	flag.StringVar(&b.listen, "listen", "", "address to answer HTTP on")
	flag.StringVar(&b.silent, "silent-http", "", "address to accept on without answering")
	flag.IntVar(&b.silentFirst, "silent-first", 1, "requests that get no answer; 0 for all")
	flag.BoolVar(&b.ignoreTerm, "ignore-term", false, "do not end at TERM")
	flag.DurationVar(&b.termDelay, "term-delay", 0, "time from TERM to the end")
	flag.IntVar(&b.exitCode, "exit", -1, "exit code to end with")
	flag.DurationVar(&b.after, "after", 0, "time to the exit")
	flag.StringVar(&b.exitFile, "exit-file", "", "remove this file when it exists, and exit 1")
	flag.StringVar(&b.busyFile, "busy-file", "", "answer 500 while this file exists")
	flag.StringVar(&b.touch, "touch", "", "file to make at the start")
	flag.DurationVar(&b.printEvery, "print", 0, "time between two lines")
	flag.IntVar(&b.lines, "lines", 0, "lines to print at the start")
	flag.IntVar(&b.burst, "burst", 0, "MiB of lines to print")
	flag.IntVar(&b.burstRate, "burst-rate", 0, "MiB a second of the burst; 0 for no limit")
	flag.IntVar(&b.allocate, "allocate", 0, "MiB of memory to touch")
	flag.StringVar(&b.message, "message", "workload started", "first line")
	flag.Parse()
	os.Exit(b.run())
}

// run returns the exit code.
func (b behaviour) run() int {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	fmt.Printf("%s pid=%d time=%s\n", b.message, os.Getpid(), time.Now().UTC().Format(time.RFC3339Nano))
	for i := range b.lines {
		fmt.Printf("line %d\n", i+1)
	}
	if b.touch != "" {
		if err := os.WriteFile(b.touch, nil, 0o644); err != nil {
			fmt.Println("touch:", err)
			return 1
		}
	}
	b.pour()
	b.swell()
	failed := make(chan error, 2)
	b.serve(failed)
	var exit <-chan time.Time
	if b.exitCode >= 0 {
		exit = time.After(b.after)
	}
	var lines <-chan time.Time
	if b.printEvery > 0 {
		lines = time.Tick(b.printEvery)
	}
	var looks <-chan time.Time
	if b.exitFile != "" {
		looks = time.Tick(50 * time.Millisecond)
	}
	for count := 1; ; {
		select {
		case err := <-failed:
			fmt.Println("serve:", err)
			return 1
		case <-exit:
			fmt.Printf("exit %d as told\n", b.exitCode)
			return b.exitCode
		case <-lines:
			fmt.Printf("tick %d\n", count)
			count++
		case <-looks:
			// Removed, or the next attempt would find it too.
			if os.Remove(b.exitFile) == nil {
				fmt.Println("exit file found")
				return 1
			}
		case <-terminated:
			if b.ignoreTerm {
				fmt.Println("TERM ignored")
				continue
			}
			time.Sleep(b.termDelay)
			fmt.Println("TERM obeyed")
			return 0
		}
	}
}
