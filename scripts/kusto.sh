#!/usr/bin/env bash
# The language service of Kusto, at the version of its lock file: it reads the
# queries of bicep/ and of logs.sh.
#   kusto.sh install    install it where it is not, or is another version
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" != install ]; then
	echo 'usage: kusto.sh install' >&2
	exit 2
fi
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	echo 'the language service of Kusto needs Node.js 20 and npm: apt-get install nodejs npm, or nodejs.org' >&2
	exit 1
fi
to=.cache/kusto
if ! cmp -s scripts/kusto/package-lock.json "$to/.installed"; then
	mkdir -p "$to"
	cp scripts/kusto/package.json scripts/kusto/package-lock.json "$to"
	npm ci --prefix "$to" --no-audit --no-fund --loglevel=error
	cp scripts/kusto/package-lock.json "$to/.installed"
fi
