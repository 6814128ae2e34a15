#!/usr/bin/env bash
# Build the images and test them as a host uses them. Needs a Docker daemon on
# this Linux machine; where none answers, root gets one for the time of the tests.
#   image_test.sh [FLAGS of go test]
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(uname)" != Linux ]; then
	echo 'the tests of the images need Linux: their containers share the network of the machine' >&2
	exit 1
fi
if [ "$(docker version --format '{{.Server.Os}}' 2>/dev/null)" != linux ]; then
	trap 'scripts/docker.sh stop' EXIT
	DOCKER_HOST=$(scripts/docker.sh start)
	export DOCKER_HOST
fi
scripts/emulator.sh install
make --no-print-directory image IMAGE=rsms-job:test

# Engines of a team, such as there may be: Windows programs.
engines=bin/test-engines
rm -rf $engines
mkdir -p $engines
CGO_ENABLED=0 GOOS=windows GOARCH=amd64 go build -o $engines/DAFLOW.EXE ./internal/imagetest/testdata/engine
for name in BLTM CTPLT CXPLT; do
	cp $engines/DAFLOW.EXE $engines/$name.EXE
done
scripts/docker.sh base "$(sed -n 's/^ARG BASE=//p' Dockerfile.wine)"
make --no-print-directory image-wine IMAGE=rsms-job:test-wine ENGINES=$engines BUILD_FLAGS='--network host'

RSMS_TEST_IMAGE=rsms-job:test RSMS_TEST_WINE_IMAGE=rsms-job:test-wine \
	go test -tags image -count 1 "$@" ./internal/imagetest
