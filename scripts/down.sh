#!/usr/bin/env bash
# Stop the storage emulator of scripts/up.sh and remove what is in it.
set -euo pipefail
cd "$(dirname "$0")/.."

home=.cache/emulator
if [ -f $home/pid ]; then
	pid=$(cat $home/pid)
	# Another process may have the number by now.
	if ps -o args= -p "$pid" 2>/dev/null | grep -q azurite; then
		kill "$pid"
		for _ in $(seq 50); do
			ps -p "$pid" >/dev/null || break
			sleep 0.1
		done
		if ps -o args= -p "$pid" 2>/dev/null | grep -q azurite; then
			kill -9 "$pid"
		fi
	fi
fi
rm -rf $home
