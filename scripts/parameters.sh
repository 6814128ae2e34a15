# shellcheck shell=bash disable=SC2154,SC2034
# Which parameters a deployment is given; deploy.sh sources it. --set goes first,
# then the parameter file, then what the last deployment was given.

# what_parameters: the templates and their parameters, but for those of a stage and
# those of what_is_kept.
what_parameters() {
	template=(--parameters "${file:=$root/bicep/main.bicepparam}")
	case $file in
	*.bicepparam) ;;
	*) template=(--template-file "$root/bicep/main.bicep" --parameters "@$file") ;;
	esac
	template+=(--parameters "namePrefix=$prefix" "commit=$commit")
	[ -z "$location" ] || template+=("location=$location")
	what_operator
}

# what_operator gives whoever deploys the right to load data, to send messages such
# as the probe, and to read what becomes of them (operatorAccess). Roles of the
# subscription, such as Owner, do not open data.
what_operator() {
	local id
	if set_here operatorPrincipalId >/dev/null || in_file operatorPrincipalId >/dev/null; then
		return
	fi
	if [ "$(line 3 "$account")" = user ]; then
		id=$(az ad signed-in-user show --query id --output tsv --only-show-errors 2>"$work/error") || id=''
		template+=('operatorPrincipalType=User')
	else
		id=$(az ad sp show --id "$(line 4 "$account")" --query id --output tsv --only-show-errors 2>"$work/error") || id=''
		template+=('operatorPrincipalType=ServicePrincipal')
	fi
	if [ -z "$id" ]; then
		said
		fail "the object id of $(line 4 "$account") cannot be read, so it could not be given the right to send the probe: --set operatorPrincipalId=ID (and operatorPrincipalType)"
	fi
	template+=("operatorPrincipalId=$id")
}

# set_here NAME: the value that --set gives a parameter. In vain where none does.
set_here() {
	local set value found=1
	for set in ${sets[@]+"${sets[@]}"}; do
		[ "${set%%=*}" != "$1" ] || { value=${set#*=} && found=0; }
	done
	[ $found = 0 ] && printf '%s\n' "$value"
}

# in_file NAME: the text that the parameter file gives a parameter, without quotes.
# In vain where it gives none; an empty text is one.
in_file() {
	case $file in
	*.bicepparam)
		grep -q "^param $1 *=" "$file" || return 1
		sed -n "s/^param $1 *= *//p" "$file" | tr -d "'\r"
		;;
	*)
		grep -q "\"$1\" *:" "$file" || return 1
		tr -d '\r\n' <"$file" | sed -n "s/.*\"$1\" *: *{[^}]*\"value\" *: *\"\{0,1\}\([^\"}]*\).*/\1/p"
		;;
	esac
}

# was NAME: what the last deployment was given.
was() { sed -n "s/^$1=//p" "$work/was"; }

# given NAME: what this one is given.
given() { set_here "$1" || in_file "$1" || was "$1"; }

# last_parameters writes those of the last deployment into $work/was, NAME=VALUE; a
# list or an object is JSON. A deployment that failed has them as well.
last_parameters() {
	local query='' name code from
	: >"$work/was"
	[ -z "$group_missing" ] || return 0
	sed -n 's/^param \([A-Za-z]*\) .*/\1/p' "$root/bicep/main.bicep" >"$work/names"
	while read -r name; do query+="${query:+, }to_string($name.value)"; done <"$work/names"
	for from in "$deployment" "$foundation"; do
		code=0
		read_az deployment group show --resource-group "$group" --name "$from" \
			--query "properties.parameters.[$query]" --output tsv >"$work/values" || code=$?
		# 3: there is none.
		case $code in
		0) break ;;
		3) ;;
		*) said && fail "the parameters of the last deployment $from cannot be read, and would be lost" ;;
		esac
	done
	[ -s "$work/values" ] || return 0
	[ "$(wc -l <"$work/values")" -eq "$(wc -l <"$work/names")" ] ||
		fail "the parameters of the last deployment $from cannot be told apart: does one have several lines? Give all of them in a file (--parameters), and delete the record: az deployment group delete --resource-group $group --name $from"
	awk 'NR == FNR {name[FNR] = $0; next} $0 != "null" {print name[FNR] "=" $0}' "$work/names" "$work/values" >"$work/was"
}

# default_of NAME: as it stands in the template, without quotes.
default_of() { sed -n "s/^param $1 [^=]*= //p" "$root/bicep/main.bicep" | tr -d "'"; }

# what_is_kept adds what the last deployment was given and nobody names now: what
# the job was once told holds until somebody says otherwise. Defaults are left to
# the template, which may have better ones today.
what_is_kept() {
	local name last usual
	while IFS='=' read -r name last <&4; do
		case $name in
		stage | image | commit | namePrefix | operatorPrincipalId | operatorPrincipalType) continue ;;
		location) [ -z "$location" ] || continue ;;
		esac
		usual=$(default_of "$name")
		# One default is made from another parameter.
		[ "$name" != poisonQueueName ] || usual=$(was queueName)-poison
		if [ "$last" != "$usual" ] && ! set_here "$name" >/dev/null && ! in_file "$name" >/dev/null; then
			say "kept from the last deployment: $name=$last (--set $name=... changes it)"
			template+=("$name=$last")
		fi
	done 4<"$work/was"
	template+=(${sets[@]+"${sets[@]}"})
}
