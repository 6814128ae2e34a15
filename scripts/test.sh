#!/usr/bin/env bash
# Run every test. The storage tests need Node.js; the emulator itself is
# installed here from its lock file. The race detector needs a C compiler;
# without one the tests run all the same, and the script says so (CI requires it).
# So it is with the tests of the container images, which need a Docker daemon on
# Linux: one that answers, or one that root can start; with those under Wine; and with
# those of the report in a browser.
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
# A slow machine with the race detector needs more than the ten minutes of go test.
# The tests of whole workers go last and alone: their leases are short, and run
# out where the machine has other work.
listed=$(go list ./...)
mapfile -t packages < <(grep -v '/internal/e2e$' <<<"$listed")
go test -timeout 20m ${race:+"$race"} "${packages[@]}"
go test -timeout 20m ${race:+"$race"} ./internal/e2e
# The checks of bicep/ have a parser in C, and one of queries in JavaScript.
if [ -n "$race" ]; then
	scripts/kusto.sh install
	go test -C scripts/bicep -count 1 ./...
else
	echo 'no C compiler: bicep/ is not checked' >&2
fi
if [ -n "${CI:-}" ] || command -v chromium >/dev/null; then
	go test -tags chromium -count 1 -run 'InBrowser|PolicyHolds' ./internal/report
else
	echo 'no chromium on this machine: the report was not opened in a browser' >&2
fi
GOOS=windows go build -o /dev/null ./job
GOOS=windows go test -exec /bin/true -run '^$' ./... >/dev/null

if [ -n "${CI:-}" ] || { command -v wine && command -v x86_64-w64-mingw32-gcc; } >/dev/null; then
	go test -tags wine -count 1 ${race:+"$race"} ./internal/winetest
else
	echo 'no Wine or no mingw on this machine: the program for Windows was built, but not run' >&2
fi

if [ -n "${CI:-}" ] || { [ "$(uname)" = Linux ] &&
	{ docker version >/dev/null 2>&1 || { [ "$(id -u)" = 0 ] && command -v dockerd >/dev/null; }; }; }; then
	scripts/image_test.sh ${race:+"$race"}
else
	echo 'no Docker daemon on this machine: the tests of the container images did not run' >&2
fi
