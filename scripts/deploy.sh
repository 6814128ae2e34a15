#!/usr/bin/env bash
# Deploy the job into a resource group: templates, image, and a proof that it works.
#
#   deploy.sh --resource-group NAME [options]
#
#   -g, --resource-group NAME   made where it does not exist (with --location)
#   -l, --location REGION       of a new resource group, and of what goes into it
#   -p, --prefix NAME           of every name in Azure; default rsms
#   -f, --parameters FILE       default bicep/main.bicepparam; also a JSON file
#       --set NAME=VALUE        one parameter of bicep/main.bicep; may be repeated
#       --subscription ID       default: the one of az account show
#       --rebuild               build although the image of the commit is in the registry
#       --skip-image            build nothing: the image of the commit is in the registry
#       --image REFERENCE       build nothing: use this image
#       --import REFERENCE      build nothing: copy this public image into the registry
#       --commit SHA            the commit of that image, where its tag does not say it
#       --allow-dirty           build from a tree that has changes; the tag says so
#       --timeout SECONDS       for the probe; default 900
#       --poll SECONDS          between two looks at it; default 15
#       --yes                   ask nothing
#       --dry-run               print every command that would change anything, run none
#
# Steps: 1 what is needed here; 2 the resource group; 3 on the first time all but
# the jobs, so that there is a registry; 4 the image, tagged by its commit; 5 all;
# 6 the job is read back; 7 a probe message goes through the queue, and the run
# record must show this very commit. What changes is shown before steps 3 and 5.
# Whatever fails can be corrected and the script run again. What the last deployment
# was given holds, unless --set, --location or the parameter file say otherwise.
. "$(dirname "$0")/azure.sh"
. "$(dirname "$0")/parameters.sh"
root=$(cd "$(dirname "$0")/.." && pwd)

# The API that knows the identity of a scale rule; az containerapp may use an older one.
job_api=2025-01-01

location='' file='' image='' import='' commit='' skip=no allow_dirty=no rebuild=no yes=no timeout=900 poll=15
sets=()

while [ $# -gt 0 ]; do
	common_option "$@"
	if [ "$taken" = 0 ]; then
		taken=2
		case $1 in
		-l | --location) value "$1" "$@" && location=$2 ;;
		-f | --parameters) value "$1" "$@" && file=$2 ;;
		--set) value "$1" "$@" && sets+=("$2") ;;
		--image) value "$1" "$@" && image=$2 ;;
		--import) value "$1" "$@" && import=$2 ;;
		--commit) value "$1" "$@" && commit=$2 ;;
		--timeout) value "$1" "$@" && timeout=$2 ;;
		--poll) value "$1" "$@" && poll=$2 ;;
		--yes) taken=1 yes=yes ;;
		--rebuild) taken=1 rebuild=yes ;;
		--skip-image) taken=1 skip=yes ;;
		--allow-dirty) taken=1 allow_dirty=yes ;;
		*) usage_error "what is '$1'?" ;;
		esac
	fi
	shift "$taken"
done

# check_options finds what contradicts itself before anything is asked of Azure.
check_options() {
	local set
	number --timeout "$timeout"
	number --poll "$poll"
	[ -z "$image" ] || [ -z "$import" ] || usage_error '--image names an image that is used where it is, --import one that is copied: only one of them'
	if [ "$rebuild" = yes ] && { [ "$skip" = yes ] || [ -n "$image$import" ]; }; then
		usage_error '--rebuild builds; --skip-image, --image and --import do not'
	fi
	for set in ${sets[@]+"${sets[@]}"}; do
		case $set in
		stage=* | image=* | commit=* | namePrefix=*) usage_error "--set $set: the script sets this one (--image, --commit, --prefix)" ;;
		[A-Za-z]*=*) ;;
		*) usage_error "--set '$set' is no NAME=VALUE" ;;
		esac
	done
	if [ -n "$file" ]; then
		[ -f "$file" ] || usage_error "no parameter file $file"
		file=$(cd "$(dirname "$file")" && pwd)/$(basename "$file")
	fi
	if [ -n "$commit" ] && [ -z "$image$import" ] && [ "$skip" = no ]; then
		usage_error "--commit goes with --skip-image, --image or --import: what is built here is the commit of this tree"
	fi
}

# what_commit says which commit the image has, and whether it is built here.
what_commit() {
	local reference=$image$import tag
	if [ -n "$reference" ] && [ -z "$commit" ]; then
		tag=${reference##*:}
		[[ $tag =~ ^[0-9a-f]{40}$ ]] || usage_error "the tag of $reference is no commit: which one is it of? --commit SHA"
		commit=$tag
	fi
	[ -z "$commit" ] || return 0
	commit=$(git -C "$root" rev-parse HEAD) || fail "$root is no git repository, so the image has no commit: clone it, or use --image"
	[ "$skip" = no ] || return 0
	[ -n "$(git -C "$root" status --porcelain)" ] || return 0
	[ "$allow_dirty" = yes ] || fail "the tree has changes, so no commit says what would be deployed: commit them (git status), or --allow-dirty"
	commit=$commit-dirty-$(date -u +%Y%m%d%H%M%S)
}

# what_builds finds out before the first change how the image will be built.
what_builds() {
	[ -z "$image$import" ] && [ "$skip" = no ] || return 0
	command -v make >/dev/null || fail 'the image is built by make, which is missing here, or --import an image of a release'
	command -v go >/dev/null || fail 'the image is built with Go, which is missing here: https://go.dev/dl, or --import an image of a release'
	if [ "$(docker version --format '{{.Server.Os}}' 2>/dev/null)" = linux ]; then
		builder=docker
	else
		builder=registry
		say 'no Docker for Linux containers answers here: the registry in Azure will build the image'
	fi
}

# providers: who may deploy into a resource group may not register what the
# subscription has never used. That shows before anything is changed.
providers() {
	local name missing=''
	if ! read_az provider list --query "[?registrationState=='Registered'].namespace" --output tsv >"$work/providers"; then
		said
		say 'So it is not known whether the subscription has registered what is deployed here.'
		return
	fi
	for name in Microsoft.App Microsoft.ContainerRegistry Microsoft.Insights Microsoft.ManagedIdentity \
		Microsoft.OperationalInsights Microsoft.Storage ${1:+Microsoft.ContainerInstance}; do
		grep -qix "$name" "$work/providers" || missing+="
  az provider register --namespace $name --wait"
	done
	[ -z "$missing" ] || fail "the subscription has not registered what is deployed here. Once, by somebody with Contributor on the subscription:$missing"
}

# confirm QUESTION
confirm() {
	if [ "$yes" = yes ] || [ "$dry_run" = yes ]; then
		return
	fi
	local answer
	printf '%s [y/N] ' "$1" >&2
	read -r answer || fail 'nobody answered, so nothing more was changed; --yes answers where nobody is'
	case $answer in
	y | Y | yes | Yes) ;;
	*) fail 'stopped; nothing more was changed' ;;
	esac
}

resource_group() {
	local there
	there=$(read_az group exists --name "$group" --output tsv) || { said && fail "cannot see whether there is a resource group $group"; }
	[ "$there" = false ] || return 0
	group_missing=yes
	[ -n "$location" ] || fail "there is no resource group $group; --location REGION says where to make it"
	say "There is no resource group $group; it is made in $location."
	confirm "Make it?"
	change_az group create --name "$group" --location "$location" --output none ||
		fail "resource group $group could not be made: the login needs Contributor on the subscription, or have it made"
}

# stage NAME DEPLOYMENT: shows what changes, asks, deploys. The name of the
# deployment is always the same: two at once are refused by Azure.
stage() {
	local what="$1" name="$2"
	local arguments=(--resource-group "$group" --name "$name" "${template[@]}" "stage=$what" "image=$3")
	if [ -z "$group_missing" ] || [ "$dry_run" = no ]; then
		say "What deployment $name changes:"
		az deployment group what-if "${arguments[@]}" "${common[@]}" ||
			fail "what-if of $name: the templates or parameters are wrong, or the login lacks rights; nothing was changed"
		confirm "Deploy that?"
	fi
	change_az deployment group create "${arguments[@]}" --output none ||
		fail "deployment $name: az said above what is wrong. Correct it and run this again: what is there is kept. Details: az deployment operation group list --resource-group $group --name $name --output table"
}

# registry DEPLOYMENT...: sets name and server from the first of them that names one.
registry() {
	local found from
	for from in "$@"; do
		found=$(outputs registryName registryLoginServer) || continue
		registry_name=$(line 1 "$found") registry_server=$(line 2 "$found")
		[ -z "$registry_server" ] || return 0
	done
	return 1
}

# has_registry: there is one, the one that is asked for now, and it may be pulled
# from since the last deployment.
has_registry() {
	registry "$deployment" "$foundation" && [ "$(given registryName || true)" = "$(was registryName)" ] &&
		read_az acr show --name "$registry_name" --query name --output tsv >/dev/null
}

# ensure_registry comes before the image, and also before one that is elsewhere:
# the right to pull takes minutes to hold, and the jobs would be made seconds later.
ensure_registry() {
	if ! has_registry; then
		registry_name='' registry_server=''
		stage foundation "$foundation" ''
		if [ "$dry_run" = yes ]; then
			registry_name='<registryName>' registry_server='<registryLoginServer>'
		elif ! registry "$foundation"; then
			said
			fail "deployment $foundation has no output registryLoginServer: does $file name a registry?"
		fi
	fi
	[ -z "$image" ] || return 0
	tag=$commit
	image=$registry_server/rsms-job:$tag
	in_registry=yes
}

# provide brings the image into the registry. A commit is built only once.
provide() {
	[ -n "$in_registry" ] || return 0
	if [ "$rebuild" = no ] && read_az acr repository show --name "$registry_name" --image "rsms-job:$tag" --query digest --output tsv >/dev/null; then
		say "image $image is there"
	elif [ "$skip" = yes ]; then
		[ "$dry_run" = yes ] || { said && fail "image $image is not in the registry: leave --skip-image away, or name another --commit"; }
	elif [ -n "$import" ]; then
		change_az acr import --name "$registry_name" --source "$import" --image "rsms-job:$tag" ||
			fail "$import could not be copied into $registry_name: it must be public, and the login needs Contributor on the registry"
	elif [ "$builder" = docker ]; then
		build_here
	else
		build_there
	fi
}

build_here() {
	change make --no-print-directory -C "$root" image "IMAGE=$image" "COMMIT=$commit" || fail 'the image could not be built; see above'
	change_az acr login --name "$registry_name" --output none || fail "no login to $registry_name: the login needs AcrPush on it"
	change docker push "$image" || fail "$image could not be pushed; the login needs AcrPush on $registry_name"
}

# build_there has the registry build from what make has put together, in a folder
# of its own: the whole tree, with whatever lies in it, is sent to nobody.
build_there() {
	local made=$root/bin/image/linux
	# It ends with an error where it finds no Docker, after it has done its part. So
	# what it has made tells, and what an earlier build has left must not.
	[ "$dry_run" = yes ] || rm -rf "$made"
	change make --no-print-directory -C "$root" image "IMAGE=$image" "COMMIT=$commit" || true
	if [ "$dry_run" = no ]; then
		if [ ! -x "$made/rsms-job" ] || [ ! -s "$made/etc/ssl/certs/ca-certificates.crt" ]; then
			fail "$made is not whole; see above"
		fi
		mkdir -p "$work/context/bin/image"
		cp -Rp "$made" "$work/context/bin/image/"
		cp -p "$root/Dockerfile" "$work/context/"
	fi
	change_az acr build --registry "$registry_name" --image "rsms-job:$tag" --platform linux/amd64 --file Dockerfile \
		--build-arg "COMMIT=$commit" --build-arg "VERSION=$(cat "$root/VERSION")" "$work/context" ||
		fail "$registry_name could not build the image; see above"
}

# read_back compares the job with what was asked for: a rule that has lost its
# identity never starts anything, and nobody says so.
read_back() {
	local scale=properties.configuration.eventTriggerConfig.scale found wrong='' n=0 item
	local rule="$scale.rules[0]"
	found=$(read_az resource show --resource-group "$group" --name "$job" --resource-type Microsoft.App/jobs --api-version "$job_api" \
		--query "[properties.template.containers[0].image, $rule.type, $rule.metadata.accountName, $rule.metadata.queueName, $rule.metadata.queueLength, $rule.metadata.queueLengthStrategy, $scale.minExecutions, properties.configuration.replicaRetryLimit, $rule.identity]" \
		--output tsv) || { said && fail "job $job cannot be read back"; }
	for item in "image $image" "rule.type azure-queue" "rule.accountName $account_name" "rule.queueName $queue" \
		'rule.queueLength 1' 'rule.queueLengthStrategy all' 'minExecutions 0' 'replicaRetryLimit 0'; do
		n=$((n + 1))
		[ "$(line $n "$found")" = "${item#* }" ] || wrong+="
  ${item%% *} is '$(line $n "$found")', not '${item#* }'"
	done
	case $(line 9 "$found") in
	/subscriptions/*/userAssignedIdentities/*) ;;
	*) wrong+="
  rule.identity is '$(line 9 "$found")', not a user-assigned identity: nothing would ever start" ;;
	esac
	[ -z "$wrong" ] || fail "job $job is not as it was deployed:$wrong
Was it changed by hand, or does something else deploy it? Run this again, then look at az resource show --resource-group $group --name $job --resource-type Microsoft.App/jobs --api-version $job_api"
	say "job $job: image and scale rule are as they should be"
}

# send puts a probe on the queue. A role that was just given takes minutes to work.
send() {
	probe=probe-$(date -u +%Y%m%d%H%M%S)-$RANDOM
	local text
	text=$(printf '{"type":"worker.probe","version":1,"job_id":"%s"}' "$probe" | base64 | tr -d '\n')
	until change_az storage message put --queue-name "$queue" --account-name "$account_name" --auth-mode login \
		--content "$text" --time-to-live 3600 --output none 2>"$work/error"; do
		if ((SECONDS >= deadline)); then
			said
			fail "no probe could be sent to queue $queue of $account_name in $timeout s. It takes Storage Queue Data Message Sender, which the deployment gives, and some minutes (--timeout), and a way through the firewall of the account"
		fi
		say "no probe could be sent yet: $(tail -n 1 "$work/error")"
		sleep "$poll"
	done
	[ "$dry_run" = yes ] || say "probe $probe is on queue $queue; an execution starts within the polling interval"
}

# look reads the run record of the probe into $work/record.
look() {
	read_az storage entity show --table-name "$runs" --partition-key worker.probe --row-key current \
		--account-name "$account_name" --auth-mode login \
		--query "[JobId, State, Commit, Reason, Detail]" --output tsv >"$work/record" || return 1
	[ "$(sed -n 1p "$work/record")" = "$probe" ]
}

prove() {
	local deadline=$((SECONDS + timeout)) tries=1 state other
	send
	if [ "$dry_run" = yes ]; then
		return
	fi
	while :; do
		if look; then
			state=$(sed -n 2p "$work/record") other=$(sed -n 3p "$work/record")
			if [ "$other" = "$commit" ]; then
				break
			elif [ $tries -ge 3 ] || ((SECONDS >= deadline)); then
				fail "the probe was answered by commit ${other:-unknown}, not by $commit: old executions still take the messages. Wait until they end (az containerapp job execution list --name $job --resource-group $group --output table), then run this again"
			fi
			say "commit ${other:-unknown} has answered, an execution from before: another probe"
			tries=$((tries + 1))
			send
		elif ((SECONDS >= deadline)); then
			silent
		fi
		sleep "$poll"
	done
	if [ "$state" != Completed ]; then
		say "The probe of commit $commit found ($(sed -n 4p "$work/record")):"
		sed -n '5,$s/^/  /p' "$work/record" >&2
		fail "the deployment stands, but a job could not run in it: correct the above, then run this again"
	fi
}

# silent: nobody has answered the probe.
silent() {
	say "The last look at the run record: $(tail -n 1 "$work/error")"
	say "Executions of $job:"
	az containerapp job execution list --name "$job" --resource-group "$group" \
		--query "[].{name:name, status:properties.status, start:properties.startTime}" --output table "${common[@]}" >&2 || true
	fail "no run record of probe $probe within $timeout s. No execution in the list: the scale rule does not work (system logs). Failed ones: scripts/logs.sh --resource-group $group --prefix $prefix. Otherwise more time: --timeout"
}

group_missing='' in_registry='' builder='' registry_name='' registry_server='' tag='' account=''
check_common
check_options
begin
foundation=$prefix-foundation
what_commit
what_builds
what_parameters
providers "$(set_here windowsImage || in_file windowsImage || true)"
resource_group
last_parameters
what_is_kept
ensure_registry
provide
stage all "$deployment" "$image"
if [ "$dry_run" = yes ]; then
	job='<jobName>' account_name='<storageAccountName>' queue='<queueName>' runs='<runsTable>'
	prove
	say 'then the job is read back and the run record of the probe is waited for; nothing was changed'
	exit 0
fi
found=$(need_outputs jobName storageAccountName queueName runsTable registryLoginServer)
if [ -n "$in_registry" ] && [ "$(line 5 "$found")" != "$registry_server" ]; then
	fail "the image is in $registry_server, but the job pulls from $(line 5 "$found"): run this again, and the image goes there"
fi
job=$(line 1 "$found") account_name=$(line 2 "$found") queue=$(line 3 "$found") runs=$(line 4 "$found")
read_back
prove
echo "deployed: job $job runs commit $commit and has answered a probe
  image  $image
  queue  $queue of $account_name
  start  scripts/start.sh --resource-group $group --prefix $prefix BASIN SCENARIO"
