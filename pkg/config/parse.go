package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"syscall"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a configuration file, in bytes. The whole of it written out
// with its comments is an eighth of that.
const maxFile = 64 << 10

// Load reads, completes and validates a configuration file. A file that cannot
// be read is an error that wraps the operating system's (fs.ErrNotExist); what
// is wrong in it comes as [Errors], all of it at once.
func Load(path string) (Configuration, error) {
	// Non-blocking, so that a FIFO in its place is an error and not a wait.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Configuration{}, fmt.Errorf("read the configuration: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && !info.Mode().IsRegular() {
		return Configuration{}, fmt.Errorf("read the configuration: %s is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return Configuration{}, fmt.Errorf("read the configuration: %w", err)
	}
	return Parse(path, data)
}

// Parse reads a configuration over [Default] and validates it: a field that is
// not written keeps its default, a list that is written replaces the default
// one. Unknown and repeated fields are refused. The name stands in the errors,
// which are [Errors].
func Parse(name string, data []byte) (Configuration, error) {
	d := &decoder{lines: map[string]int{}, unread: map[string]bool{}}
	c := Default()
	if root := d.document(data); root != nil {
		d.file(root, &c)
	}
	var invalid Errors
	for _, e := range Validate(c) {
		// A field that could not be read holds its default, and nothing can be
		// said of it.
		if !d.failed(e.Field) {
			e.Line = d.lineOf(e.Field)
			invalid = append(invalid, e)
		}
	}
	d.errs = append(d.errs, invalid...)
	for i := range d.errs {
		d.errs[i].File = name
	}
	if err := d.errs.orNil(); err != nil {
		return Configuration{}, err
	}
	return c, nil
}

// document parses the one YAML document of a file. It returns nil, and has
// noted why, if there is none.
func (d *decoder) document(data []byte) *yaml.Node {
	if len(data) > maxFile {
		d.add(0, "", "is larger than %d bytes; that is not a configuration", maxFile)
		return nil
	}
	var document, second yaml.Node
	reader := yaml.NewDecoder(bytes.NewReader(data))
	if err := reader.Decode(&document); errors.Is(err, io.EOF) {
		return &yaml.Node{Kind: yaml.MappingNode, Line: 1} // only comments, or nothing
	} else if err != nil {
		d.syntax(err)
		return nil
	}
	if err := reader.Decode(&second); err == nil {
		d.add(second.Line, "", "a second document begins here; write one only")
	} else if !errors.Is(err, io.EOF) {
		d.syntax(err)
	}
	if len(document.Content) == 0 {
		return &yaml.Node{Kind: yaml.MappingNode, Line: 1}
	}
	return document.Content[0]
}

// yamlError takes the parser's "yaml: line 3: text" apart.
var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)

// syntax notes an error of the YAML parser, which stops at the first and is at
// times one line behind.
func (d *decoder) syntax(err error) {
	line, text := 0, err.Error()
	if m := yamlError.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	d.add(line, "", "is not YAML, here or on the line after: %s", text)
	d.broken = true
}
