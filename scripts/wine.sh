#!/usr/bin/env bash
# Make a Wine prefix for the tests, and print its folder. It takes some seconds
# the first time, and none while Wine and this script are what they were.
# Needs wine and gcc-mingw-w64-x86-64, but no display.
set -euo pipefail
cd "$(dirname "$0")/.."

prefix=$PWD/.cache/wine
for program in wine wineboot wineserver x86_64-w64-mingw32-gcc; do
	if ! command -v $program >/dev/null; then
		echo "$program is missing: apt-get install wine gcc-mingw-w64-x86-64" >&2
		exit 1
	fi
done

export WINEPREFIX=$prefix WINEARCH=win64 WINEDEBUG=-all
unset DISPLAY WAYLAND_DISPLAY
key=$(wine --version && cat scripts/wine.sh scripts/wine/*.c | sha256sum)
if [ "$(cat "$prefix/made" 2>/dev/null)" = "$key" ]; then
	echo "$prefix"
	exit
fi

# What all this says is of interest only when it fails.
mkdir -p .cache
log=.cache/wine.log
exec 3>&1 4>&2 >$log 2>&1
trap '[ $? = 0 ] || { cat $log; echo "the Wine prefix could not be made"; } >&4' EXIT

if [ -d "$prefix" ]; then
	wineserver -k || true # one that a killed test left
	rm -rf "$prefix"
fi
# Without the add-ons that Wine would ask for.
WINEDLLOVERRIDES='mscoree,mshtml=' wineboot --init
# A program that crashes is to end, without a debugger that tells its story.
wine reg add 'HKLM\Software\Microsoft\Windows NT\CurrentVersion\AeDebug' /v Debugger /d false /f
wineserver --wait

# It has a copy of every library of Wine, 0.6 GB in all: a link does as well.
system=$prefix/drive_c/windows/system32
for original in /usr/lib/*/wine/x86_64-windows/*; do
	copy=$system/${original##*/}
	if cmp -s "$copy" "$original"; then
		ln -sf "$original" "$copy"
	fi
done
# What Wine before 9 lacks, and programs written in Go ask for at their start.
if [ ! -e "$system/bcryptprimitives.dll" ]; then
	x86_64-w64-mingw32-gcc -shared -Os -s -Wall -Werror \
		-o "$system/bcryptprimitives.dll" scripts/wine/bcryptprimitives.c -ladvapi32
fi
echo "$key" >"$prefix/made"
echo "$prefix" >&3
