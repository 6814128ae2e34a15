#!/usr/bin/env bash
# Take pictures of the report of the shipped example, for people to look at: wide,
# narrow and on paper. Needs chromium; writes into the folder that is named.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mkdir -p "${1:-report-look}" && cd "${1:-report-look}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin/rsms-job demo "$work/demo" >/dev/null 2>&1
bin/rsms-job report antietam 1970-03-24 --store "$work/demo" -o "$out"
shoot() {
	chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
		--user-data-dir="$work/profile" "$@" "file://$out/report.html" 2>/dev/null
}
shoot --window-size=1280,4600 --screenshot="$out/wide.png"
# The narrowest window of a headless browser has 500 pixels: a frame is narrower.
printf '<!doctype html><body style="margin:0"><iframe src="report.html" width="380" height="7600" style="border:0"></iframe>' >"$out/narrow.html"
chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --user-data-dir="$work/profile" \
	--window-size=500,7600 --screenshot="$out/narrow.png" "file://$out/narrow.html" 2>/dev/null
shoot --print-to-pdf="$out/print.pdf"
ls "$out"
