#!/usr/bin/env bash
# Lint: formatting, vet on both systems, staticcheck, Dockerfiles, shellcheck.
set -euo pipefail
cd "$(dirname "$0")/.."

unformatted=$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l)
if [ -n "$unformatted" ]; then
	printf 'gofmt would change:\n%s\n' "$unformatted" >&2
	exit 1
fi
go vet ./...
GOOS=windows go vet ./...
go vet -tags image ./internal/imagetest
go vet -tags wine ./internal/winetest
go vet -tags chromium ./internal/report
go vet -C scripts/roots ./...
go vet -C scripts/bicep ./...
go build -modfile=scripts/lint/go.mod -o .cache/staticcheck honnef.co/go/tools/cmd/staticcheck
.cache/staticcheck ./...
GOOS=windows .cache/staticcheck ./...
.cache/staticcheck -tags image ./internal/imagetest
.cache/staticcheck -tags wine ./internal/winetest
.cache/staticcheck -tags chromium ./internal/report
go vet -C scripts/lint ./...
# The files it reads are outside its module, where the cache of results does not look.
go test -C scripts/lint -count=1 ./...
if ! command -v shellcheck >/dev/null; then
	echo 'shellcheck is missing: apt-get install shellcheck' >&2
	exit 1
fi
git ls-files -co --exclude-standard '*.sh' '.ci/run' | xargs shellcheck -x -P SCRIPTDIR
