package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
)

// pour prints numbered lines of 100 bytes, so that a reader sees which are
// missing.
func (b behaviour) pour() {
	if b.burst == 0 {
		return
	}
	const line = 100
	pad := strings.Repeat(".", line-len("burst 000000000 ")-1)
	began, perMiB := time.Now(), (1<<20)/line
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	for n := range b.burst * perMiB {
		fmt.Fprintf(out, "burst %09d %s\n", n, pad)
		if b.burstRate > 0 && n%perMiB == perMiB-1 {
			_ = out.Flush()
			due := began.Add(time.Duration(n/perMiB+1) * time.Second / time.Duration(b.burstRate))
			time.Sleep(time.Until(due))
		}
	}
	_ = out.Flush()
	fmt.Printf("burst of %d lines is over\n", b.burst*perMiB)
}

// swell takes memory and touches each page, so that the kernel has to give it.
func (b behaviour) swell() {
	var held [][]byte
	for range b.allocate {
		part := make([]byte, 1<<20)
		for i := 0; i < len(part); i += 4096 {
			part[i] = 1
		}
		held = append(held, part)
	}
	if len(held) > 0 {
		fmt.Printf("holding %d MiB\n", len(held))
	}
}
