#!/usr/bin/env bash
# The storage emulator, Azurite, at the version of its lock file.
#   emulator.sh install    install it where it is not, or is another version
set -euo pipefail
cd "$(dirname "$0")/azurite"

if [ "${1:-}" != install ]; then
	echo 'usage: emulator.sh install' >&2
	exit 2
fi
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	echo 'the storage emulator needs Node.js 20 and npm: apt-get install nodejs npm, or nodejs.org' >&2
	exit 1
fi
if ! cmp -s package-lock.json node_modules/.installed; then
	npm ci --no-audit --no-fund --loglevel=error
	cp package-lock.json node_modules/.installed
fi
