#!/usr/bin/env bash
# Whole-process figures of the bundled engines on 10,000 grids and 500 steps,
# and of a run of the shipped example. Peer: a Fortran -O2 program that writes
# the same number of BLTM.FLW records and computes nothing, which is less than
# any DAFLOW in Fortran has to do.
set -euo pipefail
cd "$(dirname "$0")/.."
make --no-print-directory build
job=$PWD/bin/rsms-job
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# timed NAME COMMAND...: wall seconds and peak memory, best of three runs.
timed() {
	local name=$1 best='' line
	shift
	for _ in 1 2 3; do
		if ! /usr/bin/time -f '%e %M' -o "$dir/time" "$@" >/dev/null 2>"$dir/stderr"; then
			cat "$dir/stderr" >&2
			return 1
		fi
		line=$(tail -n 1 "$dir/time")
		if [ -z "$best" ] || awk "BEGIN{exit !(${line%% *} < ${best%% *})}"; then best=$line; fi
	done
	printf '%-34s %8.2f s %8.1f MB\n' "$name" "${best%% *}" "$(awk "BEGIN{print ${best##* }/1024}")"
}

RSMS_BENCH_DIR=$dir go test -run '^TestWriteBenchRiver$' -count 1 ./internal/pipeline >/dev/null
run=$dir/run
cd "$run"
timed 'daflow 10,000 grids x 500 steps' "$job" engine daflow
timed 'bltm   10,000 grids x 500 steps' "$job" engine bltm
timed 'ctplt  10,000 places' "$job" engine ctplt
timed 'cxplt  126 times' "$job" engine cxplt
if command -v gfortran >/dev/null; then
	gfortran -O2 -o "$dir/ceiling" "$OLDPWD/scripts/bench/ceiling.f90"
	timed 'Fortran, BLTM.FLW records only' "$dir/ceiling" 500 100 100
else
	echo 'gfortran is not installed: no peer for daflow'
fi
export RSMS_STEP_CACHE=false # what is timed is a run, not a copy of one
timed 'whole job, antietam 1970-03-24' "$job" demo "$dir/demo"

# ensemble STORE BASIN SCENARIO: 16 runs beside 16/cores times BLTM and CTPLT of the
# run itself, and beside as many plain runs, one on each core.
ensemble() {
	local message="{\"riverbasin_id\":\"$2\",\"scenario_id\":\"$3\",\"force\":true}"
	"$job" run --store "$1" --message "$message" --ensemble 16 --log-format json >/dev/null 2>"$dir/ensemble.log"
	awk -v name="$2" -v cores="$(nproc)" '
		function seconds(step) { return match($0, "\"seconds_" step "\":[0-9.e-]+") ? substr($0, RSTART + length(step) + 11, RLENGTH - length(step) - 11) : 0 }
		/"msg":"summary"/ {
			took = seconds("ensemble"); transport = 16 / cores * (seconds("bltm") + seconds("ctplt"))
			plain = 16 / cores * (seconds("daflow") + seconds("bltm") + seconds("ctplt") + seconds("cxplt") + seconds("check") + seconds("publish"))
			printf "ensemble of 16, %-18s %8.2f s, %.2f of 16/cores transport runs (%.2f s), %.2f of 16/cores plain runs\n", name, took, took / transport, transport, took / plain
		}' "$dir/ensemble.log"
}
ensemble "$dir" channel s1
ensemble "$dir/demo" antietam 1970-03-24
