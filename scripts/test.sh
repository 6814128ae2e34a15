#!/usr/bin/env bash
# Run every test. The storage tests need Node.js; the emulator itself is
# installed here from its lock file. The race detector needs a C compiler;
# without one the tests run all the same, and the script says so (CI requires it).
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
scripts/emulator.sh install
go test ${race:+"$race"} ./...
GOOS=windows go build -o /dev/null ./job
GOOS=windows go test -exec /bin/true -run '^$' ./... >/dev/null
