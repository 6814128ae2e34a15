#!/usr/bin/env bash
# Start the storage emulator on this machine, with queues, tables, containers
# and the examples in it, and say what to do next. Running it twice is harmless;
# what is in the emulator lasts until scripts/down.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

home=.cache/emulator
log=$home/log
script=scripts/azurite/node_modules/azurite/dist/src/azurite.js

# One at a time, where the system has flock.
mkdir -p .cache
exec 9>.cache/up.lock
if command -v flock >/dev/null; then
	flock 9
fi

running() {
	[ -f $home/pid ] && ps -o args= -p "$(cat $home/pid)" 2>/dev/null | grep -q azurite
}

taken() {
	(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# where SERVICE prints the address that the emulator has logged.
where() {
	sed -n "s/.*Azurite $1 service is successfully listening at //p" "$log"
}

start() {
	scripts/emulator.sh install
	mkdir -p $home/data
	ports=(10000 10001 10002)
	for port in "${ports[@]}"; do
		if taken "$port"; then
			echo "port $port is taken: free ports are used instead" >&2
			ports=(0 0 0)
			break
		fi
	done
	nohup node $script --silent --disableTelemetry --skipApiVersionCheck --location $home/data \
		--blobHost 127.0.0.1 --queueHost 127.0.0.1 --tableHost 127.0.0.1 \
		--blobPort "${ports[0]}" --queuePort "${ports[1]}" --tablePort "${ports[2]}" \
		>$log 2>&1 </dev/null 9>&- &
	echo $! >$home/pid
	for _ in $(seq 150); do
		if [ -n "$(where Blob)" ] && [ -n "$(where Queue)" ] && [ -n "$(where Table)" ]; then
			return
		fi
		running || break
		sleep 0.2
	done
	echo 'the storage emulator did not start; it said:' >&2
	cat $log >&2
	scripts/down.sh
	exit 1
}

if ! running; then
	start
fi

# The account and the key of the emulator are published: they are no secret.
account=devstoreaccount1
key='Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='
connection="AccountName=$account;AccountKey=$key"
for service in Blob Queue Table; do
	connection+=";${service}Endpoint=$(where $service)/$account"
done
echo "AZURE_STORAGE_CONNECTION_STRING='$connection'" >$home/env

[ -x bin/rsms-job ] || make -s build
RSMS_STORE_DIR='' AZURE_STORAGE_ACCOUNT_NAME='' AZURE_STORAGE_CONNECTION_STRING='' \
	bin/rsms-job init --examples --env-file $home/env

cat <<END

The emulator is up, its settings are in $home/env:
  $connection

Next:
  bin/rsms-job check   --env-file $home/env
  bin/rsms-job enqueue --env-file $home/env antietam 1970-03-24
  bin/rsms-job run     --env-file $home/env
  bin/rsms-job status  --env-file $home/env antietam 1970-03-24
  make down
END
