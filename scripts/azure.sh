# shellcheck shell=bash
# What deploy.sh, start.sh, logs.sh and teardown.sh have in common; they source it.
# Nothing here or there needs more than the bash of macOS (3.2), the Azure CLI and
# git: no jq, no yq. No call gets a key: data is reached with --auth-mode login.
set -euo pipefail
umask 077

group='' subscription='' prefix=rsms dry_run=no

# What the scripts use was looked up in the reference of this version; nobody has
# tried an older one.
az_minimum=2.76.0

say() { printf '%s\n' "$*" >&2; }

fail() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

usage_error() {
	printf '%s: %s\n  %s -h shows every option\n' "${0##*/}" "$*" "$0" >&2
	exit 2
}

# usage prints the comment at the top of the script.
usage() {
	sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
	exit 0
}

# value OPTION "$@": the argument of an option.
value() { [ $# -ge 3 ] || usage_error "$1 needs a value"; }

# shellcheck disable=SC2034 # the scripts read it
# common_option "$@": takes an option that every script has. It sets taken to the
# number of arguments it was, 0 for none.
common_option() {
	taken=2
	case $1 in
	-g | --resource-group) value "$1" "$@" && group=$2 ;;
	-p | --prefix) value "$1" "$@" && prefix=$2 ;;
	--subscription) value "$1" "$@" && subscription=$2 ;;
	--dry-run) taken=1 dry_run=yes ;;
	-h | --help) usage ;;
	*) taken=0 ;;
	esac
}

check_common() {
	[ -n "$group" ] || usage_error 'which resource group? --resource-group NAME'
	[[ $prefix =~ ^[a-z][a-z0-9]{1,9}$ ]] || usage_error "--prefix '$prefix': 2 to 10 lower-case letters and digits, a letter first"
}

# begin checks what every script needs, and makes the folder $work, which is
# private and does not outlive the script.
begin() {
	deployment=$prefix-job
	common=(--only-show-errors)
	[ -z "$subscription" ] || common+=(--subscription "$subscription")
	exec 3>&1
	work=$(mktemp -d "${TMPDIR:-/tmp}/rsms.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	preflight
}

# number NAME VALUE
number() { [[ $2 =~ ^[0-9]{1,6}$ ]] || usage_error "$1 '$2' is no number of seconds"; }

# older A B: whether version A is below B.
older() {
	awk -v a="$1" -v b="$2" 'BEGIN {
		split(a, x, "."); split(b, y, ".")
		for (i = 1; i <= 3; i++) if (x[i] + 0 != y[i] + 0) exit !(x[i] + 0 < y[i] + 0)
		exit 1
	}'
}

preflight() {
	command -v az >/dev/null || fail 'the Azure CLI (az) is missing: https://learn.microsoft.com/cli/azure/install-azure-cli'
	local version
	version=$(az version --query '"azure-cli"' --output tsv) || fail 'az version does not answer: is the Azure CLI whole?'
	if older "$version" "$az_minimum"; then
		fail "the Azure CLI is $version, $az_minimum is needed: az upgrade"
	fi
	if ! account=$(az account show --query '[name, id, user.type, user.name]' --output tsv "${common[@]}" 2>"$work/error"); then
		said
		fail "no login to Azure${subscription:+ that knows subscription $subscription}: az login, then az account list --output table"
	fi
	line 1 "$account" >"$work/name"
	say "subscription $(cat "$work/name"), resource group $group"
}

# needs_extension NAME: az asks before it installs one, and nobody may be there.
needs_extension() {
	[ -n "$(az extension list --query "[?name=='$1'].version" --output tsv)" ] ||
		fail "the Azure CLI has no extension $1: az extension add --name $1"
}

# line N TEXT: the N-th line. az prints the items of a list one a line.
line() { printf '%s\n' "$2" | sed -n "$1p"; }

# said shows what the last call said on its standard error, which is in
# $work/error.
said() { sed 's/^/  az: /' "$work/error" >&2; }

# read_az COMMAND...: what an az command answers, with what it said in $work/error.
read_az() { az "$@" "${common[@]}" 2>"$work/error"; }

# change COMMAND...: the only way to change anything. --dry-run prints it instead.
change() {
	if [ "$dry_run" = yes ]; then
		printf 'would run:' >&3
		printf ' %q' "$@" >&3
		printf '\n' >&3
		return
	fi
	"$@"
}

change_az() { change az "$@" "${common[@]}"; }

# outputs NAME...: the outputs of the deployment, one a line, empty where it has
# none. What is asked for is in the error when there is no deployment.
outputs() {
	local query='' name
	for name in "$@"; do
		query+="${query:+, }not_null($name.value, '')"
	done
	read_az deployment group show --resource-group "$group" --name "${from:-$deployment}" \
		--query "properties.outputs.[$query]" --output tsv
}

# some_outputs NAME...: as outputs, of a deployment that must be there. Where the
# last one failed it has none, and nothing is printed.
some_outputs() {
	if ! outputs "$@"; then
		said
		fail "no deployment $deployment in resource group $group: scripts/deploy.sh makes it (--prefix, if it was deployed with one)"
	fi
}

# need_outputs NAME...: as some_outputs, for scripts that can do nothing without.
need_outputs() {
	local answer
	answer=$(some_outputs "$@")
	[ -n "$answer" ] ||
		fail "the last deployment $deployment failed, so nothing says what is there: scripts/deploy.sh again. Why it failed: az deployment operation group list --resource-group $group --name $deployment --output table"
	printf '%s\n' "$answer"
}
