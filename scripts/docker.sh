#!/usr/bin/env bash
# A Docker daemon for tests, on a Linux machine that runs none. Only root can.
#   docker.sh start         prints where it listens, for DOCKER_HOST
#   docker.sh stop          ends it and removes what it had
#   docker.sh base IMAGE    has it know a Debian image: where no registry can be
#                           reached, one is made of Debian's packages, and has
#                           that name in this daemon only
# Containers can have the network of the machine (--network host) or none.
set -euo pipefail
cd "$(dirname "$0")/.."

home=.cache/docker # a link: sockets have short names only
install=(apt-get install -y --no-install-recommends)

fail() {
	echo "$*" >&2
	exit 1
}

# need PROGRAM PACKAGE: installs it where CI may.
need() {
	command -v "$1" >/dev/null && return
	[ -n "${CI:-}" ] || fail "$1 is missing: apt-get install $2"
	{ apt-get update && "${install[@]}" "$2"; } >&2
}

running() {
	# Another process may have the number by now.
	[ -f $home/pid ] && [ "$(cat "/proc/$(cat $home/pid)/comm" 2>/dev/null)" = dockerd ]
}

start() {
	if [ "$(uname)" != Linux ] || [ "$(id -u)" != 0 ]; then
		fail 'only root on Linux can start a Docker daemon; start yours'
	fi
	if running; then
		echo "unix://$(readlink $home)/socket"
		return
	fi
	need dockerd docker.io
	need docker docker-cli
	stop
	local dir
	dir=$(mktemp -d /tmp/rsms-docker.XXXXXX)
	mkdir -p .cache
	ln -s "$dir" $home
	# Nothing of the machine is changed: no bridge, no rule of its firewall. Its
	# own group, so that an interrupt from the keyboard leaves it to the trap of
	# the caller.
	setsid dockerd --data-root "$dir/data" --exec-root "$dir/exec" --host "unix://$dir/socket" \
		--bridge=none --iptables=false --ip6tables=false >"$dir/log" 2>&1 </dev/null &
	echo $! >"$dir/pid"
	for _ in $(seq 300); do
		if docker --host "unix://$dir/socket" version >/dev/null 2>&1; then
			echo "unix://$dir/socket"
			return
		fi
		running || break
		sleep 0.2
	done
	tail -n 20 "$dir/log" >&2
	stop
	fail 'the Docker daemon did not start; that is what it said last'
}

stop() {
	[ -L $home ] || return 0
	local dir pid
	dir=$(readlink $home)
	if running; then
		pid=$(cat $home/pid)
		kill "$pid"
		for _ in $(seq 150); do
			running || break
			sleep 0.2
		done
		if running; then
			kill -9 "$pid"
		fi
	fi
	# A daemon that was killed leaves the roots of its containers mounted.
	awk -v under="$dir/" 'index($5, under) == 1 {print $5}' /proc/self/mountinfo | sort -r | xargs -r umount --lazy
	rm -rf --one-file-system "$dir"
	rm -f $home
}

base() {
	docker image inspect "$1" >/dev/null 2>&1 && return
	docker pull --quiet "$1" >/dev/null 2>&1 && return
	if ! running || [ "${DOCKER_HOST:-}" != "unix://$(readlink $home)/socket" ]; then
		fail "$1 cannot be pulled; only a daemon of this script gets one made under that name"
	fi
	local suite dir
	suite=$(sed -n 's/^debian:\([a-z]*\)-.*/\1/p' <<<"$1")
	[ -n "$suite" ] || fail "$1 cannot be pulled, and it is no image of Debian that could be made here"
	[ "$(id -u)" = 0 ] || fail "$1 cannot be pulled, and only root can make it"
	need debootstrap debootstrap
	dir=$(mktemp -d /tmp/rsms-base.XXXXXX)
	# shellcheck disable=SC2064 # the name as it is now
	trap "rm -rf --one-file-system '$dir'" EXIT
	if ! debootstrap --variant=minbase "$suite" "$dir/root" >"$dir/log" 2>&1; then
		tail -n 20 "$dir/log" >&2
		fail "$1 cannot be pulled, and debootstrap could not make it"
	fi
	rm -rf "$dir"/root/var/cache/apt/archives/*.deb "$dir"/root/var/lib/apt/lists/*
	tar -C "$dir/root" -c . | docker import - "$1" >/dev/null
}

case ${1:-} in
start) start ;;
stop) stop ;;
base) base "${2:?the name of the image}" ;;
*)
	echo 'usage: docker.sh start|stop|base IMAGE' >&2
	exit 2
	;;
esac
