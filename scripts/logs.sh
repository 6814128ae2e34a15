#!/usr/bin/env bash
# What executions said, and what the platform said of them, from Log Analytics.
#
#   logs.sh --resource-group NAME [options]                   the latest execution
#   logs.sh --resource-group NAME [options] EXECUTION
#   logs.sh --resource-group NAME [options] BASIN SCENARIO    every run of it
#   logs.sh --resource-group NAME [options] --job-id ID       every attempt
#
#   -g, --resource-group NAME   where the job was deployed
#   -p, --prefix NAME           that it was deployed with; default rsms
#       --subscription ID       default: the one of az account show
#       --job-id ID             of a run or a probe
#       --since AGE             how far to look back: 90m, 12h, 7d; default 7d
#       --live                  follow a running execution instead; only what it says
#       --dry-run               print the command and the query only
#
# Logs come some minutes late, and those of a short execution may never come. The
# log of every run is also in the results: rsms-results/BASIN/SCENARIO/run/JOB/.
. "$(dirname "$0")/azure.sh"

job_id='' since=7d live=no
words=()

while [ $# -gt 0 ]; do
	common_option "$@"
	if [ "$taken" = 0 ]; then
		taken=2
		case $1 in
		--job-id) value "$1" "$@" && job_id=$2 ;;
		--since) value "$1" "$@" && since=$2 ;;
		--live) taken=1 live=yes ;;
		-*) usage_error "what is '$1'?" ;;
		*) taken=1 words+=("$1") ;;
		esac
	fi
	shift "$taken"
done

# What goes into a query may not end its quotes.
check_options() {
	local word
	[[ $since =~ ^[0-9]{1,5}[mhd]$ ]] || usage_error "--since '$since': a number and m, h or d"
	[ ${#words[@]} -le 2 ] || usage_error 'EXECUTION, or BASIN SCENARIO'
	if [ -n "$job_id" ]; then
		[ ${#words[@]} -eq 0 ] || usage_error '--job-id says it all: no other words'
		words=("$job_id")
	fi
	for word in ${words[@]+"${words[@]}"}; do
		[[ $word =~ ^[A-Za-z0-9][._A-Za-z0-9-]*$ ]] || usage_error "'$word' is no name of an execution, basin, scenario or job"
	done
	if [ "$live" = yes ] && { [ -n "$job_id" ] || [ ${#words[@]} -eq 2 ]; }; then
		usage_error '--live follows one execution: its name, or nothing for the latest'
	fi
}

# names sets the jobs and the workspace. After a deployment that failed, when logs
# are wanted most, nothing says what they are called: then by the names it gives.
names() {
	local found
	found=$(some_outputs jobName manualJobName workspaceCustomerId)
	event_job=$(line 1 "$found") manual_job=$(line 2 "$found") workspace=$(line 3 "$found")
	[ -z "$found" ] || return 0
	say 'The last deployment failed, so it names nothing; jobs and workspace are looked for by the names that it gives.'
	event_job=$prefix-job manual_job=$prefix-job-manual
	workspace=$(read_az monitor log-analytics workspace show --resource-group "$group" --workspace-name "$prefix-logs" --query customerId --output tsv) ||
		{ said && fail "there is no workspace $prefix-logs in resource group $group: scripts/deploy.sh again, or ask the workspace that was given"; }
}

# latest sets execution and job to those that began last. The times are ISO 8601:
# their order is that of their text.
latest() {
	local name answer newest=''
	for name in "$event_job" "$manual_job"; do
		[ -n "$name" ] || continue
		answer=$(read_az containerapp job execution list --name "$name" --resource-group "$group" \
			--query 'sort_by([], &properties.startTime)[-1].[properties.startTime, name]' --output tsv) ||
			{ said && fail "the executions of $name cannot be listed: the login needs Reader on the job"; }
		if [[ $(line 1 "$answer") > $newest ]]; then
			newest=$(line 1 "$answer") execution=$(line 2 "$answer") job=$name
		fi
	done
	[ -n "$execution" ] || fail "no execution yet. Is there a message on the queue? rsms-job enqueue; then az containerapp job execution list --name $event_job --resource-group $group --output table"
	say "execution $execution, since $newest"
}

follow() {
	needs_extension containerapp
	case $execution in
	"$manual_job"-*) job=${manual_job:-$job} ;;
	"$event_job"-*) job=$event_job ;;
	esac
	local container
	container=$(read_az containerapp job show --name "$job" --resource-group "$group" \
		--query 'properties.template.containers[0].name' --output tsv) || { said && fail "job $job cannot be read"; }
	az containerapp job logs show --name "$job" --resource-group "$group" --execution "$execution" \
		--container "$container" --follow --format text "${common[@]}" ||
		fail "execution $execution cannot be followed: it may have ended. Without --live, its log comes some minutes later"
}

# query prints the query. The tables and columns are those of an environment that
# sends its logs by a diagnostic setting. The name of a container group is that of
# its execution and a suffix.
query() {
	local which named="groups | project execution = extract('^(.*)-[^-]*\$', 1, ContainerGroupName)"
	if [ -n "$execution" ]; then
		which="ContainerGroupName startswith '$execution-'"
		# What never came so far as to say something has no group either.
		named="print execution = '$execution'"
	elif [ -n "$job_id" ]; then
		which="tostring(parse_json(Log).job_id) == '$job_id'"
	else
		which="tostring(parse_json(Log).riverbasin_id) == '${words[0]}' and tostring(parse_json(Log).scenario_id) == '${words[1]}'"
	fi
	cat <<-END
		let jobs = dynamic(['$event_job', '$manual_job']);
		let said = ContainerAppConsoleLogs | where TimeGenerated > ago($since) and JobName in (jobs);
		let groups = said | where $which | distinct ContainerGroupName;
		let executions = $named;
		union isfuzzy=true
		  (said | where ContainerGroupName in (groups) | project TimeGenerated, Source = ContainerGroupName, Line = Log),
		  (ContainerAppSystemLogs | where TimeGenerated > ago($since) and JobName in (jobs)
		   | where ReplicaName in (groups) or Log has_any (executions)
		   | project TimeGenerated, Source = 'platform', Line = strcat(Reason, ': ', Log))
		| order by TimeGenerated asc
	END
}

show() {
	local answer
	if [ "$dry_run" = yes ]; then
		change_az monitor log-analytics query --workspace "$workspace" --analytics-query "$(query)" \
			--query '[].[TimeGenerated, Source, Line]' --output tsv
		return
	fi
	needs_extension log-analytics
	answer=$(read_az monitor log-analytics query --workspace "$workspace" --analytics-query "$(query)" \
		--query '[].[TimeGenerated, Source, Line]' --output tsv) ||
		{ said && fail "workspace $workspace does not answer: the login needs Log Analytics Reader on it; a table that does not exist means that no execution has written a log yet"; }
	[ -n "$answer" ] || fail "no log in the last $since. It comes some minutes late (look again, or --since); the log of a run is also in the results"
	printf '%s\n' "$answer"
}

check_common
check_options
begin
names
execution='' job=$event_job
if [ -z "$job_id" ] && [ ${#words[@]} -eq 1 ]; then
	execution=${words[0]}
elif [ ${#words[@]} -eq 0 ]; then
	latest
fi
if [ "$live" = yes ]; then
	follow
else
	show
fi
