#!/usr/bin/env bash
# Start one execution by hand, with a message of your own: no queue is touched.
#
#   start.sh --resource-group NAME [options] BASIN SCENARIO
#   start.sh --resource-group NAME [options] --message JSON|@FILE
#
#   -g, --resource-group NAME   where the job was deployed
#   -p, --prefix NAME           that it was deployed with; default rsms
#       --subscription ID       default: the one of az account show
#       --job NAME              default: the manual job of the deployment
#       --job-id ID             of the run; default: made from the message
#       --force                 run although the result is current
#       --message JSON|@FILE    the whole message instead of BASIN SCENARIO
#       --wait                  until the execution has ended; its state is the exit code
#       --timeout SECONDS       with --wait; default 7800
#       --poll SECONDS          with --wait; default 15
#       --dry-run               print the command and the template, start nothing
#
# Prints the name of the execution. A start may bring a template of its own, which
# replaces the one of the job as a whole: --env-vars alone is ignored, and with
# --image all other variables are lost. So the template of the job is read, the
# message added, and all of it given back.
. "$(dirname "$0")/azure.sh"

job='' message='' job_id='' force='' wait=no timeout=7800 poll=15
words=()

while [ $# -gt 0 ]; do
	common_option "$@"
	if [ "$taken" = 0 ]; then
		taken=2
		case $1 in
		--job) value "$1" "$@" && job=$2 ;;
		--message) value "$1" "$@" && message=$2 ;;
		--job-id) value "$1" "$@" && job_id=$2 ;;
		--timeout) value "$1" "$@" && timeout=$2 ;;
		--poll) value "$1" "$@" && poll=$2 ;;
		--force) taken=1 force=', "force": true' ;;
		--wait) taken=1 wait=yes ;;
		-*) usage_error "what is '$1'?" ;;
		*) taken=1 words+=("$1") ;;
		esac
	fi
	shift "$taken"
done

# identifier WHAT VALUE LENGTH CHARACTERS WORDS: as the worker checks it. What passes
# needs no quoting in JSON.
identifier() {
	if ! [[ $2 =~ ^[A-Za-z0-9][$4]*$ ]] || [ ${#2} -gt "$3" ] || [[ $2 == *..* ]]; then
		usage_error "'$2' is no $1: $3 of A-Z a-z 0-9 $5 at most, a letter or digit first"
	fi
}

# payload writes the message into $work/message.
payload() {
	number --timeout "$timeout"
	number --poll "$poll"
	if [ -n "$message" ]; then
		[ ${#words[@]} -eq 0 ] || usage_error '--message is all of the message: no BASIN SCENARIO with it'
		[ -z "$job_id$force" ] || usage_error '--message is all of the message: put job_id and force into it'
		case $message in
		@*) [ -f "${message#@}" ] || usage_error "no file ${message#@}" ;;
		esac
	else
		[ ${#words[@]} -eq 2 ] || usage_error 'BASIN SCENARIO, or --message'
		identifier basin "${words[0]}" 63 '._A-Za-z0-9-' '. _ -, no ..'
		identifier scenario "${words[1]}" 63 '._A-Za-z0-9-' '. _ -, no ..'
		[ -z "$job_id" ] || identifier 'job id' "$job_id" 64 '_A-Za-z0-9-' '_ -'
		message="{\"riverbasin_id\": \"${words[0]}\", \"scenario_id\": \"${words[1]}\"${job_id:+, \"job_id\": \"$job_id\"}$force}"
	fi
}

write_payload() {
	case $message in
	@*) cat "${message#@}" >"$work/message" ;;
	*) printf '%s' "$message" >"$work/message" ;;
	esac
	[ "$(tr -d ' \t\r\n' <"$work/message" | head -c 1)" = '{' ] || fail 'the message is no JSON object; --message @FILE reads it from a file'
	[ "$(wc -c <"$work/message")" -le 49152 ] || fail 'the message has more than 48 KiB; the job takes no longer one'
}

# which_job: a start by hand of an event-driven job can keep later events from
# starting it, so there is a second job for it.
which_job() {
	[ -z "$job" ] || return 0
	local found
	found=$(some_outputs manualJobName jobName)
	if [ -z "$found" ]; then
		job=$prefix-job-manual
		say "The last deployment failed, so it names no job; $job is the name that it gives (--job, if there is another)."
		return
	fi
	job=$(line 1 "$found")
	[ -z "$job" ] || return 0
	job=$(line 2 "$found")
	say "There is no manual job (parameter manualJob), so the event-driven one is started: look whether it still starts by itself afterwards."
}

# template writes that of the job, with the message in it, into $work/start.yaml.
# JSON is YAML, so az makes it, by a query, and nothing has to read or quote YAML.
# The message goes in as base64, which the job reads as well: it has no character
# that JSON, YAML or a shell would take for its own, and is not in the list of
# processes.
template() {
	local container='properties.template.containers[0]' text
	read_az containerapp job show --name "$job" --resource-group "$group" --output json \
		--query "merge(properties.template, {containers: [merge($container, {env: [$container.env[?name != 'RSMS_MESSAGE'], [{name: 'RSMS_MESSAGE', value: '@message@'}]][]})]})" \
		>"$work/template" || { said && fail "job $job cannot be read: its name is an output of the deployment (--job)"; }
	text=$(cat "$work/template")
	[[ $text == *'"@message@"'* ]] || fail "job $job has no container to give the message to"
	printf '%s%s%s\n' "${text%%@message@*}" "$(base64 <"$work/message" | tr -d '\n')" "${text#*@message@}" >"$work/start.yaml"
}

start() {
	if [ "$dry_run" = yes ]; then
		change_az containerapp job start --name "$job" --resource-group "$group" --yaml start.yaml --query name --output tsv
		say 'with start.yaml:'
		cat "$work/start.yaml"
		exit 0
	fi
	execution=$(change_az containerapp job start --name "$job" --resource-group "$group" --yaml "$work/start.yaml" --query name --output tsv) ||
		fail "job $job was not started; the login needs Container Apps Jobs Operator on it"
	[ -n "$execution" ] || fail "job $job was started, but az named no execution: az containerapp job execution list --name $job --resource-group $group --output table"
	echo "$execution"
}

follow() {
	local deadline=$((SECONDS + timeout)) state last=''
	while :; do
		state=$(read_az containerapp job execution show --name "$job" --resource-group "$group" --job-execution-name "$execution" \
			--query properties.status --output tsv) || state="unknown ($(tail -n 1 "$work/error"))"
		[ "$state" = "$last" ] || say "$execution: $state"
		last=$state
		case $state in
		Succeeded) return ;;
		Failed | Stopped | Degraded) fail "execution $execution: $state. Why: scripts/logs.sh --resource-group $group --prefix $prefix $execution" ;;
		esac
		((SECONDS < deadline)) || fail "execution $execution has not ended in $timeout s; it goes on. Its state: rsms-job status, or scripts/logs.sh --resource-group $group --prefix $prefix $execution"
		sleep "$poll"
	done
}

check_common
payload
begin
write_payload
which_job
template
start
[ "$wait" = no ] || follow
