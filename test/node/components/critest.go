package components

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// critestNeeds is what CritestImage takes from the system.
var critestNeeds = []need{{program: "busybox", debian: "busybox-static", fedora: "busybox"}}

// CritestImage stands for all images that critest pulls: busybox with the few
// files that its specs look for (cri-tools pkg/validate and images, v1.37).
// Prepare with Want.Critest comes first.
func CritestImage() (v1.Image, error) {
	program, applets, err := staticBusybox()
	if err != nil {
		return nil, fmt.Errorf("critest's image: %w", err)
	}
	archive, err := critestLayer(program, applets)
	if err != nil {
		return nil, fmt.Errorf("critest's image: %w", err)
	}
	return oneLayer(archive, v1.Config{
		// What the images of httpd and nginx do.
		Cmd: []string{"sh", "-c", "echo httpd; httpd -p 12003 -h /www; exec httpd -f -p 80 -h /www"},
		Env: []string{"PATH=/bin"},
	})
}

// staticBusybox returns a program that needs no library, which the image would
// not have, and the names that it may be called by.
func staticBusybox() (program []byte, applets []string, err error) {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return nil, nil, err
	}
	binary, err := elf.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer binary.Close()
	for _, segment := range binary.Progs {
		if segment.Type == elf.PT_INTERP {
			return nil, nil, fmt.Errorf("%s needs shared libraries: install package %s in its place", path, critestNeeds[0].debian)
		}
	}
	list, err := exec.Command(path, "--list").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("list what %s can do: %w", path, err)
	}
	program, err = os.ReadFile(path)
	return program, strings.Fields(string(list)), err
}

// critestLayer is the tar archive of the image's files.
func critestLayer(busybox []byte, applets []string) ([]byte, error) {
	files := []struct {
		name    string
		content []byte
		mode    int64
	}{
		{"bin/busybox", busybox, 0o755},
		// Debian's busybox has no pgrep.
		{"bin/pgrep", []byte("#!/bin/sh\nexec pidof \"$1\"\n"), 0o755},
		{"etc/passwd", []byte("root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\ndefault-user:x:1000:1000::/:/bin/sh\n"), 0o644},
		{"etc/group", []byte("root:x:0:\nnogroup:x:65534:\ndefault-user:x:1000:\ngroup-defined-in-image:x:50000:default-user\n"), 0o644},
		{"www/index.html", []byte("<html><body><h1>It works!</h1></body></html>\n"), 0o644},
	}
	var headers []*tar.Header
	for _, folder := range []string{"bin/", "etc/", "root/", "tmp/", "var/", "www/"} {
		headers = append(headers, &tar.Header{Name: folder, Typeflag: tar.TypeDir, Mode: 0o755})
	}
	contents := map[string][]byte{}
	for _, file := range files {
		contents[file.name] = file.content
		headers = append(headers, &tar.Header{Name: file.name, Mode: file.mode, Size: int64(len(file.content))})
	}
	for _, applet := range applets {
		if name := "bin/" + applet; contents[name] == nil {
			// A hard link: a spec masks one applet alone.
			headers = append(headers, &tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: "bin/busybox", Mode: 0o755})
		}
	}
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, header := range headers {
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(contents[header.Name]); err != nil {
			return nil, err
		}
	}
	err := writer.Close()
	return archive.Bytes(), err
}
