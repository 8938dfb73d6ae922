// Command krew packs the builds of oc's plugin for a release, and writes the
// manifest by which krew installs them.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	var r release
	flag.StringVar(&r.version, "version", "", "version of the release, v1.2.3")
	flag.StringVar(&r.builds, "builds", "../_output", "directory with kubectl-nodekeeper-OS-ARCH")
	flag.StringVar(&r.licence, "licence", "../LICENSE", "the licence, which goes into each archive")
	flag.StringVar(&r.template, "template", "../manifests/krew/nodekeeper.yaml", "template of the manifest")
	flag.StringVar(&r.to, "o", "../_output/krew", "directory for the archives and nodekeeper.yaml")
	flag.Parse()
	if err := r.write(); err != nil {
		fmt.Fprintln(os.Stderr, "krew:", err)
		os.Exit(1)
	}
}
