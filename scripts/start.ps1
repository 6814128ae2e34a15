<#
.SYNOPSIS
Start one execution by hand, with a message of your own: no queue is touched.

.DESCRIPTION
Prints the name of the execution. A start may bring a template of its own, which
replaces the one of the job as a whole. So the template of the job is read, the
message added, and all of it given back. The same as start.sh.

.PARAMETER ResourceGroup
Where the job was deployed.
.PARAMETER Prefix
That it was deployed with.
.PARAMETER Subscription
Default: the one of az account show.
.PARAMETER Job
Default: the manual job of the deployment.
.PARAMETER JobId
Of the run; default: made from the message.
.PARAMETER Force
Run although the result is current.
.PARAMETER Message
The whole message instead of BASIN SCENARIO: JSON, or @FILE.
.PARAMETER Wait
Until the execution has ended; its state is the exit code.
.PARAMETER Timeout
Seconds, with -Wait.
.PARAMETER Poll
Seconds between two looks, with -Wait.
.PARAMETER DryRun
Print the command and the template, start nothing.

.EXAMPLE
.\start.ps1 -ResourceGroup water antietam 1970-03-24 -Wait
#>
[CmdletBinding()]
param(
    [Parameter(Position = 0)] [string]$Basin,
    [Parameter(Position = 1)] [string]$Scenario,
    [string]$ResourceGroup,
    [string]$Prefix = 'rsms',
    [string]$Subscription,
    [string]$Job,
    [string]$JobId,
    [switch]$Force,
    [string]$Message,
    [switch]$Wait,
    [int]$Timeout = 7800,
    [int]$Poll = 15,
    [switch]$DryRun
)
$Self = 'start.ps1'
. (Join-Path $PSScriptRoot 'azure.ps1')

function Test-Identifier([string]$What, [string]$Value, [int]$Length, [string]$Characters) {
    if ($Value -cnotmatch "^[A-Za-z0-9][$Characters]*$" -or $Value.Length -gt $Length -or $Value.Contains('..')) {
        Stop-Usage "'$Value' is no ${What}: $Length letters, digits and some of . _ - at most, a letter or digit first"
    }
}

function Get-Payload {
    if ($Message) {
        if ($Basin) { Stop-Usage '-Message is all of the message: no BASIN SCENARIO with it' }
        if ($JobId -or $Force) { Stop-Usage '-Message is all of the message: put job_id and force into it' }
        $text = $Message
        if ($text.StartsWith('@')) {
            if (-not (Test-Path -LiteralPath $text.Substring(1) -PathType Leaf)) { Stop-Usage "no file $($text.Substring(1))" }
            $text = [IO.File]::ReadAllText((Resolve-Path -LiteralPath $text.Substring(1)).ProviderPath)
        }
    } else {
        if (-not $Scenario) { Stop-Usage 'BASIN SCENARIO, or -Message' }
        Test-Identifier basin $Basin 63 '._A-Za-z0-9-'
        Test-Identifier scenario $Scenario 63 '._A-Za-z0-9-'
        $text = "{""riverbasin_id"": ""$Basin"", ""scenario_id"": ""$Scenario"""
        if ($JobId) {
            Test-Identifier 'job id' $JobId 64 '_A-Za-z0-9-'
            $text += ", ""job_id"": ""$JobId"""
        }
        if ($Force) { $text += ', "force": true' }
        $text += '}'
    }
    if (-not $text.TrimStart().StartsWith('{')) { Stop-Usage 'the message is no JSON object; -Message @FILE reads it from a file' }
    if ([Text.Encoding]::UTF8.GetByteCount($text) -gt 49152) { Stop-Usage 'the message has more than 48 KiB; the job takes no longer one' }
    return $text
}

# Find-Job: a start by hand of an event-driven job can keep later events from
# starting it, so there is a second job for it.
function Find-Job {
    if ($Job) { return $Job }
    $found = @(Read-SomeOutputs @('manualJobName', 'jobName'))
    if (-not ($found -join '')) {
        Say "The last deployment failed, so it names no job; $Prefix-job-manual is the name that it gives (-Job, if there is another)."
        return "$Prefix-job-manual"
    }
    if ($found[0]) { return $found[0] }
    Say 'There is no manual job (parameter manualJob), so the event-driven one is started: look whether it still starts by itself afterwards.'
    return $found[1]
}

# Get-Template gives that of the job with the message in it, as base64. az reads
# the file in the code page of the machine, so it has ASCII only: JSON can say all
# else by numbers.
function Get-Template([string]$Name, [string]$Text) {
    $container = 'properties.template.containers[0]'
    $template = Read-Az @('containerapp', 'job', 'show', '--name', $Name, '--resource-group', $ResourceGroup, '--output', 'json',
        '--query', "merge(properties.template, {containers: [merge($container, {env: [$container.env[?name != 'RSMS_MESSAGE'], [{name: 'RSMS_MESSAGE', value: '@message@'}]][]})]})") | Out-String
    if (Test-Failed) { Stop-Script "job $Name cannot be read: its name is an output of the deployment (-Job)" }
    if (-not $template.Contains('"@message@"')) { Stop-Script "job $Name has no container to give the message to" }
    $template = [regex]::Replace($template, '[^\x00-\x7F]', { param($m) '\u{0:x4}' -f [int][char]$m.Value })
    return $template.Replace('@message@', (ConvertTo-Base64 $Text))
}

function Start-Execution([string]$Name, [string]$Template) {
    $arguments = @('containerapp', 'job', 'start', '--name', $Name, '--resource-group', $ResourceGroup)
    $result = @('--query', 'name', '--output', 'tsv')
    if ($DryRun) {
        Invoke-Change az ($arguments + @('--yaml', 'start.yaml') + $result)
        Say 'with start.yaml:'
        [Console]::Out.WriteLine($Template)
        exit 0
    }
    $file = [IO.Path]::GetTempFileName()
    try {
        [IO.File]::WriteAllText($file, $Template, [Text.Encoding]::ASCII)
        $execution = Invoke-Change az ($arguments + @('--yaml', $file) + $result)
        if (Test-Failed) { Stop-Script "job $Name was not started; the login needs Container Apps Jobs Operator on it" }
    } finally {
        Remove-Item -LiteralPath $file -Force
    }
    if (-not $execution) { Stop-Script "job $Name was started, but az named no execution: az containerapp job execution list --name $Name --resource-group $ResourceGroup --output table" }
    return $execution
}

function Wait-Execution([string]$Name, [string]$Execution) {
    $deadline = (Get-Date).AddSeconds($Timeout)
    $last = ''
    while ($true) {
        $state = Read-Az @('containerapp', 'job', 'execution', 'show', '--name', $Name, '--resource-group', $ResourceGroup,
            '--job-execution-name', $Execution, '--query', 'properties.status', '--output', 'tsv')
        if (Test-Failed) { $state = 'unknown' }
        if ($state -ne $last) { Say "${Execution}: $state" }
        $last = $state
        if ($state -eq 'Succeeded') { return }
        if ($state -in 'Failed', 'Stopped', 'Degraded') { Stop-Script "execution ${Execution}: $state. Why: scripts/logs.sh --resource-group $ResourceGroup --prefix $Prefix $Execution" }
        if ((Get-Date) -ge $deadline) { Stop-Script "execution $Execution has not ended in $Timeout s; it goes on" }
        Start-Sleep -Seconds $Poll
    }
}

$text = Get-Payload
Start-Common
$name = Find-Job
$execution = Start-Execution $name (Get-Template $name $text)
$execution
if ($Wait) { Wait-Execution $name $execution }
