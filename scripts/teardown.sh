#!/usr/bin/env bash
# Delete what deploy.sh has deployed. What was there before it, such as a storage
# account or a registry that it was told to use, stays, and so does the resource group.
#
#   teardown.sh --resource-group NAME [options]
#
#   -g, --resource-group NAME   where the job was deployed
#   -p, --prefix NAME           that it was deployed with; default rsms
#       --subscription ID       default: the one of az account show
#       --keep-storage          leave the storage account, with all that is in it
#       --delete-results        delete it although there are results in it
#       --yes                   do not ask for the name of the resource group
#       --dry-run               print every command that would delete, run none
#
# Can be run again after a failure: it deletes what is left.
. "$(dirname "$0")/azure.sh"

keep_storage=no delete_results=no yes=no

while [ $# -gt 0 ]; do
	common_option "$@"
	if [ "$taken" = 0 ]; then
		taken=1
		case $1 in
		--yes) yes=yes ;;
		--keep-storage) keep_storage=yes ;;
		--delete-results) delete_results=yes ;;
		*) usage_error "what is '$1'?" ;;
		esac
	fi
	shift "$taken"
done

# deployed writes the ids of all that the deployments say they have made.
deployed() {
	local name any=no
	for name in "$deployment" "$prefix-foundation"; do
		read_az deployment group show --resource-group "$group" --name "$name" \
			--query 'properties.outputResources[].id' --output tsv >>"$work/made" && any=yes
	done
	if [ $any = no ]; then
		said
		fail "no deployment $deployment in resource group $group, so nothing says what belongs to it (--prefix, if it was deployed with one)"
	fi
}

# tagged adds what has our tag and a name of this prefix: what a deployment made
# that is no longer on record. The long names end in 13 characters of a hash.
tagged() {
	read_az resource list --resource-group "$group" --query "[?tags.application == 'rsms-job'].id" --output tsv >"$work/tagged" ||
		{ said && fail "the resources of $group cannot be listed"; }
	grep -E "/$prefix(-[^/]*|[a-z0-9]{13})\$" "$work/tagged" >>"$work/made" || true
}

# select_ids writes what is there of that, in the order in which it can be
# deleted, into $work/delete, and the role assignments into $work/roles. Only
# whole resources of this group are taken: what is inside of another one, such as
# a queue, goes with it or belongs to an account that was there before.
select_ids() {
	read_az resource list --resource-group "$group" --query '[].id' --output tsv >"$work/there" ||
		{ said && fail "the resources of $group cannot be listed"; }
	tr '[:upper:]' '[:lower:]' <"$work/made" | sort -u >"$work/made.low"
	grep '/providers/microsoft.authorization/roleassignments/' "$work/made.low" >"$work/roles" || true
	awk 'NR == FNR {made[$0]; next}
		{
			id = tolower($0)
			if (!(id in made)) next
			order = 5
			if (id ~ /\/providers\/microsoft.app\/jobs\//) order = 1
			else if (id ~ /\/providers\/microsoft.app\/managedenvironments\//) order = 2
			else if (id ~ /\/providers\/microsoft.insights\/(scheduledqueryrules|metricalerts)\//) order = 3
			else if (id ~ /\/providers\/microsoft.storage\/storageaccounts\//) order = 9
			print order, $0
		}' "$work/made.low" "$work/there" | sort -s -k 1,1n | cut -d ' ' -f 2- >"$work/delete"
	if [ "$keep_storage" = yes ]; then
		grep -iv '/providers/microsoft.storage/storageaccounts/' "$work/delete" >"$work/kept" || true
		mv "$work/kept" "$work/delete"
	fi
}

# results refuses where there are any. Every run has a record, whatever became of
# it, and so has every result.
results() {
	local found id
	id=$(grep -i '/providers/microsoft.storage/storageaccounts/' "$work/delete") || return 0
	[ "$delete_results" = no ] || return 0
	found=$(need_outputs storageAccountName runsTable)
	found=$(read_az storage entity query --table-name "$(line 2 "$found")" --account-name "$(line 1 "$found")" --auth-mode login \
		--filter "PartitionKey ne 'worker.probe'" --select PartitionKey --num-results 1 --query 'length(items)' --output tsv) ||
		{ said && fail "cannot see whether ${id##*/} holds results. --keep-storage leaves it; --delete-results deletes it whatever it holds"; }
	[ "$found" = 0 ] || fail "storage account ${id##*/} holds results. --keep-storage leaves it; --delete-results deletes it with them"
}

show() {
	say "To be deleted from resource group $group:"
	sed 's/.*\/providers\//  /' "$work/delete" >&2
	say "and $(wc -l <"$work/roles" | tr -d ' ') role assignments."
}

# ask_name wants to be sure that this is meant.
ask_name() {
	if [ "$yes" = yes ] || [ "$dry_run" = yes ]; then
		return
	fi
	local answer
	printf 'The name of the resource group, to delete that: ' >&2
	read -r answer || fail 'nobody answered, so nothing was deleted; --yes answers where nobody is'
	[ "$answer" = "$group" ] || fail "'$answer' is not $group: nothing was deleted"
}

delete() {
	local id failed=no
	while IFS= read -r id <&4; do
		change_az role assignment delete --ids "$id" --output none || failed=yes
	done 4<"$work/roles"
	while IFS= read -r id <&4; do
		say "deleting ${id#*/providers/}"
		change_az resource delete --ids "$id" --output none || failed=yes
	done 4<"$work/delete"
	[ $failed = no ] || fail "not all of it could be deleted; az said above why. Run this again: it deletes what is left"
}

check_common
begin
deployed
tagged
select_ids
if [ ! -s "$work/delete" ]; then
	say "Nothing of deployment $deployment is left in $group."
	exit 0
fi
results
show
ask_name
delete
if [ "$dry_run" = no ]; then
	say "Left in resource group $group:"
	az resource list --resource-group "$group" --query '[].{name:name, type:type}' --output table "${common[@]}" >&2 || true
fi
