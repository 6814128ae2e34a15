#!/usr/bin/env bash
# Run every test. The race detector needs a C compiler; without one the tests
# run all the same, and the script says so (CI requires it).
set -euo pipefail
cd "$(dirname "$0")/.."

race=-race
if ! command -v "${CC:-gcc}" >/dev/null; then
	if [ -n "${CI:-}" ]; then
		echo 'CI needs a C compiler for the race detector' >&2
		exit 1
	fi
	echo 'no C compiler: running without the race detector' >&2
	race=
fi
go test ${race:+"$race"} ./...
GOOS=windows go build -o /dev/null ./job
GOOS=windows go test -exec /bin/true -run '^$' ./... >/dev/null
