// Package dockerfiles judges Dockerfiles: by the linter of BuildKit, and by
// rules of this house. Invariant: a verdict needs no network and no Docker.
package dockerfiles

import (
	"bytes"
	"context"
	"fmt"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerui"
	digest "github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

// Finding is what is wrong in a Dockerfile, and where.
type Finding struct {
	Rule   string
	Line   int // 0 where it is about the whole file
	Detail string
}

func (f Finding) String() string { return fmt.Sprintf("line %d: %s: %s", f.Line, f.Rule, f.Detail) }

// Check judges the text of a Dockerfile for linux or windows.
func Check(ctx context.Context, name string, text []byte, os string) ([]Finding, error) {
	findings, err := buildkit(ctx, name, text, os)
	if err != nil {
		return nil, err
	}
	tree, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	stages, global, err := instructions.Parse(tree.AST, nil)
	if err != nil {
		return nil, err
	}
	return append(findings, house(stages, global, tree.EscapeToken, os)...), nil
}

// buildkit converts the file as a build does, and collects what the linter says
// meanwhile.
func buildkit(ctx context.Context, name string, text []byte, os string) ([]Finding, error) {
	source := llb.NewSourceMap(nil, name, "Dockerfile", text)
	source.Definition = &llb.Definition{} // where the text comes from does not matter
	platform := ocispecs.Platform{OS: os, Architecture: "amd64"}
	results, err := dockerfile2llb.DockerfileLint(ctx, text, dockerfile2llb.ConvertOpt{
		Config:         dockerui.Config{BuildPlatforms: []ocispecs.Platform{platform}},
		TargetPlatform: &platform,
		MetaResolver:   anyImage{platform},
		SourceMap:      source,
	})
	if err != nil {
		return nil, err
	}
	var list []Finding
	for _, w := range results.Warnings {
		f := Finding{Rule: w.RuleName, Detail: w.Detail}
		if len(w.Location.Ranges) > 0 {
			f.Line = int(w.Location.Ranges[0].Start.Line)
		}
		list = append(list, f)
	}
	if e := results.Error; e != nil {
		list = append(list, Finding{Rule: "Build", Detail: e.Message})
	}
	return list, nil
}

// anyImage says of every base image that it exists, for the platform, and sets
// nothing: no registry is asked.
type anyImage struct{ platform ocispecs.Platform }

func (a anyImage) ResolveImageConfig(_ context.Context, ref string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	config := fmt.Sprintf(`{"os":%q,"architecture":%q,"config":{},"rootfs":{"type":"layers"}}`, a.platform.OS, a.platform.Architecture)
	return ref, digest.FromString(ref), []byte(config), nil
}
