#!/usr/bin/env bash
# Fuzz every parser for the time given, 20 s by default.
set -euo pipefail
cd "$(dirname "$0")/.."

for package in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "$package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${1:-20s}" "$package"
	done
done
