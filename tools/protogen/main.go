// Command protogen generates the Go and ttrpc code of .proto files beside
// them, without protoc: it compiles them itself and runs the two plugins that
// tools/go.mod pins. It runs in the tools module:
//
//	go run -C tools ./protogen ../pkg/lifecycle/lifecyclev1/lifecycle.proto
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

var plugins = []string{"protoc-gen-go", "protoc-gen-go-ttrpc"}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: protogen FILE.proto...")
		os.Exit(2)
	}
	for _, path := range os.Args[1:] {
		if err := generate(context.Background(), path); err != nil {
			fmt.Fprintf(os.Stderr, "protogen: %s: %v\n", path, err)
			os.Exit(1)
		}
	}
}

// generate writes the plugins' files beside the .proto file, which imports no
// others.
func generate(ctx context.Context, path string) error {
	dir, name := filepath.Split(path)
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{dir}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, name)
	if err != nil {
		return err
	}
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name},
		Parameter:      proto.String("paths=source_relative"),
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(files[0])},
	})
	if err != nil {
		return err
	}
	for _, plugin := range plugins {
		response, err := run(ctx, plugin, request)
		if err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
		for _, file := range response.File {
			if err := os.WriteFile(filepath.Join(dir, file.GetName()), []byte(file.GetContent()), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func run(ctx context.Context, plugin string, request []byte) (*pluginpb.CodeGeneratorResponse, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "tool", plugin)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(request), &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	response := new(pluginpb.CodeGeneratorResponse)
	if err := proto.Unmarshal(out.Bytes(), response); err != nil {
		return nil, err
	}
	if response.GetError() != "" {
		return nil, errors.New(response.GetError())
	}
	return response, nil
}
