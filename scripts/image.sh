#!/usr/bin/env bash
# Build a container image from what this tree is now.
#   image.sh linux
#   image.sh windows|wine ENGINES    with the engine executables of a folder
# make calls it, with VERSION, COMMIT and LDFLAGS. IMAGE is the name of the image;
# BASE replaces the base image of the Dockerfile; BUILD_FLAGS go to docker build.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:-}
engines=${2:-}
narrow=''
limit=$((40 * 1000 * 1000)) # bytes, of the Linux image

usage() {
	echo "$*" >&2
	exit 2
}

case $kind in
linux) suffix='' file=Dockerfile ;;
windows | wine) suffix=-$kind file=Dockerfile.$kind ;;
*) usage 'usage: image.sh linux | image.sh windows|wine ENGINES' ;;
esac
# executables HOW: of the folder and of those in it, as an engine.json may name
# them; HOW says to find what to print.
executables() {
	[ -d "${engines:-/none}" ] && find -L "$engines" -type f -iname '*.exe' "$@"
}
if [ "$kind" != linux ] && [ -z "$(executables -print -quit)" ]; then
	usage "no engines in '$engines': make image-$kind ENGINES=folder with DAFLOW.EXE, BLTM.EXE, CTPLT.EXE, CXPLT.EXE"
fi
image=${IMAGE:-rsms-job:$VERSION$suffix}

# program OS FILE: every platform in question is amd64.
program() {
	CGO_ENABLED=0 GOOS=$1 GOARCH=amd64 go build -trimpath -ldflags "$LDFLAGS" -o "$2" ./job
}

# linux_root FOLDER: the files of a Linux image, with the modes they have there,
# whatever umask this user has.
linux_root() {
	mkdir -p "$1/etc/ssl/certs" "$1/tmp"
	program linux "$1/rsms-job"
	(cd scripts/roots && go run .) >"$1/etc/ssl/certs/ca-certificates.crt"
	chmod 0755 "$1" "$1/etc" "$1/etc/ssl" "$1/etc/ssl/certs" "$1/rsms-job"
	chmod 0644 "$1/etc/ssl/certs/ca-certificates.crt"
	chmod 1777 "$1/tmp"
}

# bits FILE: of a Windows program. The number at byte 60 is where its header is.
bits() {
	local header machine
	header=$(od -An -tu4 -j60 -N4 "$1" 2>/dev/null || true)
	machine=$(od -An -tx2 -j$((header + 4)) -N2 "$1" 2>/dev/null || true)
	case $(head -c 2 "$1")${machine// /} in
	MZ8664) echo 64 ;;
	MZ014c) echo 32 ;;
	*) usage "$1 is no Windows program of 32 or 64 bits; a DOS program runs neither on Windows of today nor under Wine" ;;
	esac
}

# add_engines FOLDER: for every user to read and to run, but not to change.
add_engines() {
	cp -RL "$engines" "$1"
	chmod -R u=rwX,go=rX "$1"
}

if [ "$kind" != linux ]; then
	while IFS= read -r -d '' engine; do
		width=$(bits "$engine")
		[ "$width" = 64 ] || narrow=32
	done < <(executables -print0)
fi

dir=bin/image/$kind
rm -rf "$dir"
mkdir -p "$dir"
case $kind in
linux) linux_root "$dir" ;;
windows)
	program windows "$dir/rsms-job.exe"
	add_engines "$dir/engines"
	;;
wine)
	linux_root "$dir/root"
	add_engines "$dir/root/engines"
	cp scripts/wine/bcryptprimitives.c scripts/wine/prefix.reg "$dir"
	;;
esac

# The address of the repository as others know it, without a password in it.
source=$(git remote get-url origin 2>/dev/null | sed -n 's#^https://\([^/@]*@\)\{0,1\}#https://#p' || true)

arguments=(--build-arg "VERSION=$VERSION" --build-arg "COMMIT=$COMMIT" --build-arg "SOURCE=$source")
[ -z "${BASE:-}" ] || arguments+=(--build-arg "BASE=$BASE")
[ "$kind$narrow" != wine32 ] || arguments+=(--build-arg BITS=32)
read -r -a more <<<"${BUILD_FLAGS:-}"

server=$(docker version --format '{{.Server.Os}}' 2>/dev/null || true)
if [ "$kind" = windows ] && [ "$server" != windows ]; then
	echo "A Windows image can only be built by a Docker that runs Windows containers, and there is none" >&2
	echo "here. What goes into the image is in $dir; a registry of Azure builds it:" >&2
	printf '  az acr build --registry NAME --platform windows --file %s --image %s' "$file" "$image" >&2
	printf ' %q' "${arguments[@]}" >&2
	echo ' .' >&2
	exit 1
fi
if [ -z "$server" ]; then
	echo "no Docker daemon answers; what goes into the image is in $dir" >&2
	exit 1
fi
if [ "$kind" != windows ]; then
	arguments+=(--platform linux/amd64)
fi
docker build "${arguments[@]}" ${more[@]+"${more[@]}"} --file "$file" --tag "$image" .
size=$(docker image inspect --format '{{.Size}}' "$image")
awk "BEGIN{printf \"%s: %.1f MB\n\", \"$image\", $size/1e6}"
if [ "$kind" = linux ] && [ "$size" -ge $limit ]; then
	echo "$image has $size bytes, and $limit are the limit" >&2
	exit 1
fi
