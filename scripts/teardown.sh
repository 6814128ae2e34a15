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

# deployed writes the ids that the deployments have on record. What was there before
# may be among them, and is in doubt: of these only role assignments are deleted,
# which no template looks at.
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

# select_ids writes what is there and ours, in the order in which it can be deleted,
# into $work/delete. Ours is a whole
# resource of this group with our tag and a name of this prefix; the long names end
# in 13 characters of a hash. What is inside of another one, such as a queue, goes
# with it, or belongs to an account that was there before.
select_ids() {
	read_az resource list --resource-group "$group" --query "[?tags.application == 'rsms-job'].id" --output tsv >"$work/tagged" ||
		{ said && fail "the resources of $group cannot be listed"; }
	grep -E "/$prefix(-[^/]*|[a-z0-9]{13})\$" "$work/tagged" >"$work/ours" || true
	awk '{
		id = tolower($0)
		order = 5
		if (id ~ /\/providers\/microsoft.app\/jobs\//) order = 1
		else if (id ~ /\/providers\/microsoft.app\/managedenvironments\//) order = 2
		else if (id ~ /\/providers\/microsoft.insights\/(scheduledqueryrules|metricalerts)\//) order = 3
		else if (id ~ /\/providers\/microsoft.storage\/storageaccounts\//) order = 9
		print order, $0
	}' "$work/ours" | sort -s -k 1,1n | cut -d ' ' -f 2- >"$work/delete"
	if [ "$keep_storage" = yes ]; then
		grep -iv '/providers/microsoft.storage/storageaccounts/' "$work/delete" >"$work/kept" || true
		mv "$work/kept" "$work/delete"
	fi
}

# select_roles writes the role assignments into $work/roles. One on a resource of
# this group went with it, where that is gone.
select_roles() {
	read_az resource list --resource-group "$group" --query '[].id' --output tsv >"$work/there" ||
		{ said && fail "the resources of $group cannot be listed"; }
	sort -u "$work/made" | awk -v group="$group" '
		BEGIN {here = "/resourcegroups/" tolower(group) "/providers/"}
		NR == FNR {there[tolower($0)]; next}
		{
			id = tolower($0)
			at = index(id, "/providers/microsoft.authorization/roleassignments/")
			if (!at) next
			scope = substr(id, 1, at - 1)
			if (index(scope, here)) {
				split(scope, part, "/")
				whole = ""
				for (i = 2; i <= 9; i++) whole = whole "/" part[i]
				if (!(whole in there)) next
			}
			print id
		}' "$work/there" - >"$work/roles"
}

# results refuses where there are any. Every run has a record, whatever became of
# it, and so has every result. Scenarios that nobody has run yet are data as well.
results() {
	local found id account_name runs scenarios table
	id=$(grep -i '/providers/microsoft.storage/storageaccounts/' "$work/delete") || return 0
	[ "$delete_results" = no ] || return 0
	account_name=${id##*/}
	found=$(some_outputs runsTable scenariosTable)
	runs=$(line 1 "$found") scenarios=$(line 2 "$found")
	for table in "${runs:-Runs}" "${scenarios:-Scenarios}"; do
		found=$(read_az storage entity query --table-name "$table" --account-name "$account_name" --auth-mode login \
			--filter "PartitionKey ne 'worker.probe'" --select PartitionKey --num-results 1 --query 'length(items)' --output tsv) ||
			{ said && fail "cannot see whether table $table of $account_name holds anything. --keep-storage leaves the account; --delete-results deletes it whatever it holds"; }
		[ "$found" = 0 ] || fail "storage account $account_name holds scenarios or results (table $table). --keep-storage leaves it; --delete-results deletes it with them"
	done
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
select_ids
select_roles
if [ ! -s "$work/delete" ] && [ ! -s "$work/roles" ]; then
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
