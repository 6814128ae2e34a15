# Which parameters a deployment is given; deploy.ps1 dot-sources it. -Set goes first,
# then the parameter file, then what the last deployment was given. parameters.sh
# says why things are done as they are.

# az is called through cmd.exe, which reads these in its own way.
$NotForCmd = '["%&|<>^]'

# Get-Operator gives whoever deploys the right to load data, to send messages such
# as the probe, and to read what becomes of them (operatorAccess). Roles of the
# subscription, such as Owner, do not open data.
function Get-Operator {
    if ($null -ne (Get-SetHere operatorPrincipalId) -or $null -ne (Get-InFile operatorPrincipalId)) { return @() }
    if ($Account[2] -eq 'user') {
        $type = 'User'
        $id = Invoke-Native az @('ad', 'signed-in-user', 'show', '--query', 'id', '--output', 'tsv', '--only-show-errors')
    } else {
        $type = 'ServicePrincipal'
        $id = Invoke-Native az @('ad', 'sp', 'show', '--id', $Account[3], '--query', 'id', '--output', 'tsv', '--only-show-errors')
    }
    if (-not $id) { Stop-Script "the object id of $($Account[3]) cannot be read, so it could not be given the right to send the probe: -Set operatorPrincipalId=ID (and operatorPrincipalType)" }
    return @("operatorPrincipalType=$type", "operatorPrincipalId=$id")
}

# Get-TemplateArguments: the templates and their parameters, but for those of a stage
# and those of Get-Kept.
function Get-TemplateArguments([string]$Sha) {
    $file = Get-ParameterFile
    $template = @('--parameters', $file)
    if (-not $file.EndsWith('.bicepparam')) { $template = @('--template-file', (Join-Path $Root 'bicep/main.bicep'), '--parameters', "@$file") }
    $template += @('--parameters', "namePrefix=$Prefix", "commit=$Sha")
    if ($Location) { $template += "location=$Location" }
    return $template + @(Get-Operator)
}

function Get-ParameterFile {
    if ($Parameters) { return (Resolve-Path -LiteralPath $Parameters).ProviderPath }
    return (Join-Path $Root 'bicep/main.bicepparam')
}

# Get-SetHere gives the value that -Set gives a parameter, $null where none does.
function Get-SetHere([string]$Name) {
    $value = $null
    foreach ($s in $Set) { if ($s.StartsWith("$Name=")) { $value = $s.Substring($Name.Length + 1) } }
    return $value
}

# Get-InFile gives the text that the parameter file gives a parameter, without quotes.
function Get-InFile([string]$Name) {
    $text = [IO.File]::ReadAllText((Get-ParameterFile))
    $pattern = "(?m)^param $Name *= *([^\r\n]*)"
    if (-not (Get-ParameterFile).EndsWith('.bicepparam')) { $pattern = """$Name""\s*:\s*\{[^}]*""value""\s*:\s*""?([^""}]*)" }
    $match = [regex]::Match($text, $pattern)
    if (-not $match.Success) { return $null }
    return $match.Groups[1].Value.Replace("'", '')
}

# Get-Given gives what this deployment is given.
function Get-Given([string]$Name) {
    foreach ($value in (Get-SetHere $Name), (Get-InFile $Name)) { if ($null -ne $value) { return $value } }
    return $Was[$Name]
}

function Get-Declared { return [IO.File]::ReadAllText((Join-Path $Root 'bicep/main.bicep')) }

# Read-LastParameters gives those of the last deployment by name; a list or an object
# is JSON. A deployment that failed has them as well.
function Read-LastParameters {
    $was = @{}
    if ($GroupMissing) { return $was }
    $names = @([regex]::Matches((Get-Declared), '(?m)^param (\w+) ') | ForEach-Object { $_.Groups[1].Value })
    $query = ($names | ForEach-Object { "to_string($_.value)" }) -join ', '
    foreach ($from in $Deployment, $Foundation) {
        $values = @(Read-Az @('deployment', 'group', 'show', '--resource-group', $ResourceGroup, '--name', $from,
            '--query', "properties.parameters.[$query]", '--output', 'tsv') -Quiet)
        # 3: there is none.
        if ($LASTEXITCODE -eq 3) { $values = @(); continue }
        if (Test-Failed) { Stop-Script "the parameters of the last deployment $from cannot be read, and would be lost" }
        break
    }
    if ($values.Count -eq 0) { return $was }
    if ($values.Count -ne $names.Count) { Stop-Script "the parameters of the last deployment $from cannot be told apart: does one have several lines? Give all of them in a file (-Parameters), and delete the record: az deployment group delete --resource-group $ResourceGroup --name $from" }
    for ($n = 0; $n -lt $names.Count; $n++) { if ($values[$n] -cne 'null') { $was[$names[$n]] = $values[$n] } }
    return $was
}

# Get-Default gives the default of a parameter as it stands in the template, without
# quotes.
function Get-Default([string]$Name) {
    return [regex]::Match((Get-Declared), "(?m)^param $Name [^=\r\n]*= ([^\r\n]*)").Groups[1].Value.Replace("'", '')
}

# Get-Kept gives what the last deployment was given and nobody names now. Defaults
# are left to the template, which may have better ones today.
function Get-Kept {
    $own = 'stage', 'image', 'commit', 'namePrefix', 'operatorPrincipalId', 'operatorPrincipalType'
    foreach ($name in @($Was.Keys | Sort-Object)) {
        if ($own -ccontains $name -or ($name -eq 'location' -and $Location)) { continue }
        $usual = Get-Default $name
        # One default is made from another parameter.
        if ($name -ceq 'poisonQueueName') { $usual = "$($Was['queueName'])-poison" }
        $last = $Was[$name]
        if ($last -ceq $usual -or $null -ne (Get-SetHere $name) -or $null -ne (Get-InFile $name)) { continue }
        if ($last -match $NotForCmd) { Stop-Script "$name of the last deployment has a character that cmd.exe, through which az is called, reads in its own way: put it into the file of -Parameters" }
        Say "kept from the last deployment: $name=$last (-Set $name=... changes it)"
        "$name=$last"
    }
}
