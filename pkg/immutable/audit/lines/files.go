package lines

import (
	"fmt"
	"io"
	"os"
)

// Files reads files one after another; "-" is in.
func Files(paths []string, in io.Reader, read func(io.Reader) error) error {
	for _, path := range paths {
		if err := file(path, in, read); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func file(path string, in io.Reader, read func(io.Reader) error) error {
	if path == "-" {
		return read(in)
	}
	f, err := os.Open(path)
	if err != nil {
		return bare(err)
	}
	defer f.Close()
	return bare(read(f))
}

// bare takes the path, which is said already, out of an error.
func bare(err error) error {
	if at, ok := err.(*os.PathError); ok {
		return at.Err
	}
	return err
}
