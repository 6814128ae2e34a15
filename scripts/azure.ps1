# What deploy.ps1 and start.ps1 have in common; they dot-source it. Windows
# PowerShell 5.1 and PowerShell 7. The shell scripts of the same names say why
# things are done as they are.
$ErrorActionPreference = 'Stop'
Set-StrictMode -Version 2

# What the scripts use was looked up in the reference of this version; nobody has
# tried an older one.
$AzMinimum = [version]'2.76.0'

function Say([string]$Text) { [Console]::Error.WriteLine($Text) }

# Stop-Script ends the script with exit code 1; nothing of it is an exception of
# ours that would be shown with a stack.
function Stop-Script([string]$Text) {
    Say "$($Script:Self): $Text"
    exit 1
}

function Stop-Usage([string]$Text) {
    Say "$($Script:Self): $Text"
    Say "  Get-Help $($Script:Self) -Detailed shows every option"
    exit 2
}

# Invoke-Native runs a program. Windows PowerShell would take whatever it says on
# its standard error for a failure.
function Invoke-Native([string]$Program, [string[]]$Arguments, [switch]$Quiet) {
    $ErrorActionPreference = 'Continue'
    if ($Quiet) { & $Program @Arguments 2>$null } else { & $Program @Arguments }
}

# Read-Az gives the lines that az answers, $null when it fails: look at $LASTEXITCODE.
function Read-Az([string[]]$Arguments, [switch]$Quiet) {
    Invoke-Native az ($Arguments + $Script:Common) -Quiet:$Quiet
}

# Invoke-Change is the only way to change anything. -DryRun prints it instead. It
# gives what the program says; failed is $LASTEXITCODE.
function Invoke-Change([string]$Program, [string[]]$Arguments) {
    if ($Program -eq 'az') { $Arguments = $Arguments + $Script:Common }
    if ($DryRun) {
        $words = foreach ($a in $Arguments) { if ($a -match '^[\w./:=@-]+$') { $a } else { "'" + $a.Replace("'", "''") + "'" } }
        [Console]::Out.WriteLine("would run: $Program $($words -join ' ')")
        $Global:LASTEXITCODE = 0
        return
    }
    Invoke-Native $Program $Arguments
}

function Test-Failed { return $LASTEXITCODE -ne 0 }

# Start-Common checks what every script needs.
function Start-Common {
    if (-not $ResourceGroup) { Stop-Usage 'which resource group? -ResourceGroup NAME' }
    if ($Prefix -cnotmatch '^[a-z][a-z0-9]{1,9}$') { Stop-Usage "-Prefix '$Prefix': 2 to 10 lower-case letters and digits, a letter first" }
    $Script:Deployment = "$Prefix-job"
    $Script:Common = @('--only-show-errors')
    if ($Subscription) { $Script:Common += @('--subscription', $Subscription) }
    if (-not (Get-Command az -ErrorAction SilentlyContinue)) {
        Stop-Script 'the Azure CLI (az) is missing: https://learn.microsoft.com/cli/azure/install-azure-cli'
    }
    $version = (Invoke-Native az @('version', '--output', 'json') | Out-String | ConvertFrom-Json).'azure-cli'
    if ([version]$version -lt $AzMinimum) { Stop-Script "the Azure CLI is $version, $AzMinimum is needed: az upgrade" }
    $Script:Account = @(Read-Az @('account', 'show', '--query', '[name, id, user.type, user.name]', '--output', 'tsv'))
    if (Test-Failed) { Stop-Script 'no login to Azure, or none that knows the subscription: az login, then az account list --output table' }
    Say "subscription $($Account[0]), resource group $ResourceGroup"
}

# Read-Outputs gives outputs of a deployment, one a line; $null when there is none.
function Read-Outputs([string]$Name, [string[]]$Outputs, [switch]$Quiet) {
    $query = ($Outputs | ForEach-Object { "not_null($_.value, '')" }) -join ', '
    Read-Az @('deployment', 'group', 'show', '--resource-group', $ResourceGroup, '--name', $Name,
        '--query', "properties.outputs.[$query]", '--output', 'tsv') -Quiet:$Quiet
}

# Read-SomeOutputs: of a deployment that must be there. Where the last one failed it
# has none.
function Read-SomeOutputs([string[]]$Outputs) {
    $found = @(Read-Outputs $Deployment $Outputs)
    if (Test-Failed) { Stop-Script "no deployment $Deployment in resource group ${ResourceGroup}: scripts/deploy.ps1 makes it (-Prefix, if it was deployed with one)" }
    return $found
}

# Read-NeededOutputs: for scripts that can do nothing without.
function Read-NeededOutputs([string[]]$Outputs) {
    $found = @(Read-SomeOutputs $Outputs)
    if (-not ($found -join '')) { Stop-Script "the last deployment $Deployment failed, so nothing says what is there: scripts/deploy.ps1 again. Why it failed: az deployment operation group list --resource-group $ResourceGroup --name $Deployment --output table" }
    return $found
}

# ConvertTo-Base64 of a text, as UTF-8.
function ConvertTo-Base64([string]$Text) {
    return [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes($Text))
}
