<#
.SYNOPSIS
Deploy the job into a resource group: templates, image, and a proof that it works.

.DESCRIPTION
The same steps and options as deploy.sh: 1 what is needed here; 2 the resource
group; 3 on the first time all but the jobs, so that there is a registry; 4 the
image, tagged by its commit; 5 all; 6 the job is read back; 7 a probe message goes
through the queue, and the run record must show this very commit. What changes is
shown before steps 3 and 5. Whatever fails can be corrected and the script run
again. What the last deployment was given holds, unless -Set, -Location or the
parameter file say otherwise.

On Windows no image is built: files that come from there lose their modes, and the
job could not write to /tmp. Use -Import with the image of a release, -SkipImage,
or deploy.sh in WSL.

.PARAMETER ResourceGroup
Made where it does not exist (with -Location).
.PARAMETER Location
Of a new resource group, and of what goes into it.
.PARAMETER Prefix
Of every name in Azure.
.PARAMETER Parameters
Default bicep/main.bicepparam; also a JSON file.
.PARAMETER Set
Single parameters of bicep/main.bicep, NAME=VALUE. Values with one of " % & | < > ^
do not survive cmd.exe: they go into the file.
.PARAMETER Subscription
Default: the one of az account show.
.PARAMETER Rebuild
Build although the image of the commit is in the registry.
.PARAMETER SkipImage
Build nothing: the image of the commit is in the registry.
.PARAMETER Image
Build nothing: use this image.
.PARAMETER Import
Build nothing: copy this public image into the registry.
.PARAMETER Commit
The commit of that image, where its tag does not say it.
.PARAMETER AllowDirty
Build from a tree that has changes; the tag says so.
.PARAMETER Timeout
Seconds for the probe.
.PARAMETER Poll
Seconds between two looks at it.
.PARAMETER Yes
Ask nothing.
.PARAMETER DryRun
Print every command that would change anything, run none.

.EXAMPLE
.\deploy.ps1 -ResourceGroup water -Location westeurope -Import ghcr.io/OWNER/rsms-job:COMMIT
#>
[CmdletBinding()]
param(
    [string]$ResourceGroup,
    [string]$Location,
    [string]$Prefix = 'rsms',
    [string]$Parameters,
    [string[]]$Set = @(),
    [string]$Subscription,
    [switch]$Rebuild,
    [switch]$SkipImage,
    [string]$Image,
    [string]$Import,
    [string]$Commit,
    [switch]$AllowDirty,
    [int]$Timeout = 900,
    [int]$Poll = 15,
    [switch]$Yes,
    [switch]$DryRun
)
$Self = 'deploy.ps1'
. (Join-Path $PSScriptRoot 'azure.ps1')
. (Join-Path $PSScriptRoot 'parameters.ps1')
$Root = Split-Path -Parent $PSScriptRoot

# The API that knows the identity of a scale rule; az containerapp may use an older one.
$JobApi = '2025-01-01'

function Test-Options {
    if ($Image -and $Import) { Stop-Usage '-Image names an image that is used where it is, -Import one that is copied: only one of them' }
    if ($Rebuild -and ($SkipImage -or $Image -or $Import)) { Stop-Usage '-Rebuild builds; -SkipImage, -Image and -Import do not' }
    foreach ($s in $Set) {
        if ($s -match '^(stage|image|commit|namePrefix)=') { Stop-Usage "-Set ${s}: the script sets this one (-Image, -Commit, -Prefix)" }
        if ($s -notmatch '^[A-Za-z]\w*=') { Stop-Usage "-Set '$s' is no NAME=VALUE" }
        if ($s -match $NotForCmd) { Stop-Usage "-Set '$s' has a character that cmd.exe, through which az is called, reads in its own way: put it into the file of -Parameters" }
    }
    if ($Parameters -and -not (Test-Path -LiteralPath $Parameters -PathType Leaf)) { Stop-Usage "no parameter file $Parameters" }
    if ($Commit -and -not ($SkipImage -or $Image -or $Import)) { Stop-Usage '-Commit goes with -SkipImage, -Image or -Import: what is built here is the commit of this tree' }
}

# Find-Commit says which commit the image has.
function Find-Commit {
    $reference = "$Image$Import"
    if ($Commit) { return $Commit }
    if ($reference) {
        $tag = $reference.Substring($reference.LastIndexOf(':') + 1)
        if ($tag -cnotmatch '^[0-9a-f]{40}$') { Stop-Usage "the tag of $reference is no commit: which one is it of? -Commit SHA" }
        return $tag
    }
    $head = Invoke-Native git @('-C', $Root, 'rev-parse', 'HEAD')
    if (Test-Failed) { Stop-Script "$Root is no git repository, so the image has no commit: clone it, or use -Image" }
    if ($SkipImage -or -not (Invoke-Native git @('-C', $Root, 'status', '--porcelain'))) { return $head }
    if (-not $AllowDirty) { Stop-Script 'the tree has changes, so no commit says what would be deployed: commit them (git status), or -AllowDirty' }
    return "$head-dirty-" + (Get-Date).ToUniversalTime().ToString('yyyyMMddHHmmss')
}

# Find-Builder finds out before the first change how the image will be built.
function Find-Builder {
    if ($Image -or $Import -or $SkipImage) { return '' }
    if ($env:OS -eq 'Windows_NT') { Stop-Script 'no image is built on Windows, where files lose their modes: -Import an image of a release, -SkipImage, or deploy.sh in WSL' }
    if (-not (Get-Command make -ErrorAction SilentlyContinue)) { Stop-Script 'the image is built by make, which is missing here, or -Import an image of a release' }
    if (-not (Get-Command go -ErrorAction SilentlyContinue)) { Stop-Script 'the image is built with Go, which is missing here: https://go.dev/dl, or -Import an image of a release' }
    if ((Get-Command docker -ErrorAction SilentlyContinue) -and (Invoke-Native docker @('version', '--format', '{{.Server.Os}}') -Quiet) -eq 'linux') { return 'docker' }
    Say 'no Docker for Linux containers answers here: the registry in Azure will build the image'
    return 'registry'
}

# Assert-Providers: who may deploy into a resource group may not register what the
# subscription has never used. That shows before anything is changed.
function Assert-Providers([string]$Windows) {
    $registered = @(Read-Az @('provider', 'list', '--query', "[?registrationState=='Registered'].namespace", '--output', 'tsv'))
    if (Test-Failed) { Say 'So it is not known whether the subscription has registered what is deployed here.'; return }
    $names = @('Microsoft.App', 'Microsoft.ContainerRegistry', 'Microsoft.Insights', 'Microsoft.ManagedIdentity', 'Microsoft.OperationalInsights', 'Microsoft.Storage')
    if ($Windows) { $names += 'Microsoft.ContainerInstance' }
    $missing = @($names | Where-Object { $registered -notcontains $_ } | ForEach-Object { "`n  az provider register --namespace $_ --wait" })
    if ($missing.Count) { Stop-Script "the subscription has not registered what is deployed here. Once, by somebody with Contributor on the subscription:$($missing -join '')" }
}

# Confirm-Step asks before something is changed.
function Confirm-Step([string]$Question) {
    if ($Yes -or $DryRun) { return }
    $answer = Read-Host "$Question [y/N]"
    if ($answer -notin 'y', 'yes') { Stop-Script 'stopped; nothing more was changed. -Yes answers where nobody is' }
}

function Assert-ResourceGroup {
    $there = Read-Az @('group', 'exists', '--name', $ResourceGroup, '--output', 'tsv')
    if (Test-Failed) { Stop-Script "cannot see whether there is a resource group $ResourceGroup" }
    if ($there -ne 'false') { return }
    $Script:GroupMissing = $true
    if (-not $Location) { Stop-Script "there is no resource group $ResourceGroup; -Location REGION says where to make it" }
    Say "There is no resource group $ResourceGroup; it is made in $Location."
    Confirm-Step 'Make it?'
    Invoke-Change az @('group', 'create', '--name', $ResourceGroup, '--location', $Location, '--output', 'none')
    if (Test-Failed) { Stop-Script "resource group $ResourceGroup could not be made: the login needs Contributor on the subscription, or have it made" }
}

# Invoke-Stage shows what changes, asks, deploys.
function Invoke-Stage([string]$Stage, [string]$Name, [string]$Reference) {
    $arguments = @('--resource-group', $ResourceGroup, '--name', $Name) + $Template + @("stage=$Stage", "image=$Reference")
    if (-not ($GroupMissing -and $DryRun)) {
        Say "What deployment $Name changes:"
        Read-Az (@('deployment', 'group', 'what-if') + $arguments) | Out-Host
        if (Test-Failed) { Stop-Script "what-if of ${Name}: the templates or parameters are wrong, or the login lacks rights; nothing was changed" }
        Confirm-Step 'Deploy that?'
    }
    Invoke-Change az (@('deployment', 'group', 'create') + $arguments + @('--output', 'none'))
    if (Test-Failed) { Stop-Script "deployment ${Name}: az said above what is wrong. Correct it and run this again: what is there is kept. Details: az deployment operation group list --resource-group $ResourceGroup --name $Name --output table" }
}

# Find-Registry gives name and server from the first deployment that names one.
function Find-Registry([string[]]$From) {
    foreach ($name in $From) {
        $found = @(Read-Outputs $name @('registryName', 'registryLoginServer') -Quiet)
        if (-not (Test-Failed) -and $found.Count -gt 1 -and $found[1]) { return $found }
    }
    return @()
}

# Assert-Registry comes before the image, and also before one that is elsewhere: the
# right to pull takes minutes to hold, and the jobs would be made seconds later.
function Assert-Registry {
    $found = @(Find-Registry @($Deployment, $Foundation))
    if ($found.Count -gt 1 -and "$(Get-Given registryName)" -ceq "$($Was['registryName'])") {
        Read-Az @('acr', 'show', '--name', $found[0], '--query', 'name', '--output', 'tsv') | Out-Null
        if (-not (Test-Failed)) { return $found }
    }
    Invoke-Stage foundation $Foundation ''
    if ($DryRun) { return @('<registryName>', '<registryLoginServer>') }
    $found = @(Find-Registry @($Foundation))
    if ($found.Count -lt 2) { Stop-Script "deployment $Foundation has no output registryLoginServer: do the parameters name a registry?" }
    return $found
}

# Publish-Image brings the image into the registry. A commit is built only once.
function Publish-Image([string]$Registry, [string]$Sha, [string]$Reference) {
    if (-not $Rebuild) {
        Read-Az @('acr', 'repository', 'show', '--name', $Registry, '--image', "rsms-job:$Sha", '--query', 'digest', '--output', 'tsv') -Quiet | Out-Null
        if (-not (Test-Failed)) { Say "image $Reference is there"; return }
    }
    if ($SkipImage) {
        if (-not $DryRun) { Stop-Script "image $Reference is not in the registry: leave -SkipImage away, or name another -Commit" }
        return
    }
    if ($Import) {
        Invoke-Change az @('acr', 'import', '--name', $Registry, '--source', $Import, '--image', "rsms-job:$Sha")
        if (Test-Failed) { Stop-Script "$Import could not be copied into ${Registry}: it must be public, and the login needs Contributor on the registry" }
        return
    }
    # What an earlier build has left must not be taken for what this one makes.
    $made = Join-Path $Root 'bin/image/linux'
    if (-not $DryRun -and (Test-Path -LiteralPath $made)) { Remove-Item -LiteralPath $made -Recurse -Force }
    Invoke-Change make @('--no-print-directory', '-C', $Root, 'image', "IMAGE=$Reference", "COMMIT=$Sha")
    if ($Builder -eq 'docker') {
        if (Test-Failed) { Stop-Script 'the image could not be built; see above' }
        Invoke-Change az @('acr', 'login', '--name', $Registry, '--output', 'none')
        if (Test-Failed) { Stop-Script "no login to ${Registry}: the login needs AcrPush on it" }
        Invoke-Change docker @('push', $Reference)
        if (Test-Failed) { Stop-Script "$Reference could not be pushed; the login needs AcrPush on $Registry" }
        return
    }
    Publish-Context $Registry $Sha
}

# Publish-Context has the registry build from what make has put together, which
# ends with an error because it finds no Docker.
function Publish-Context([string]$Registry, [string]$Sha) {
    $made = Join-Path $Root 'bin/image/linux'
    $context = Join-Path ([IO.Path]::GetTempPath()) "rsms.$([guid]::NewGuid())"
    try {
        if (-not $DryRun) {
            foreach ($file in 'rsms-job', 'etc/ssl/certs/ca-certificates.crt') {
                if (-not (Test-Path -LiteralPath (Join-Path $made $file))) { Stop-Script "$made is not whole; see above" }
            }
            Invoke-Native mkdir @('-p', "$context/bin/image")
            Invoke-Native cp @('-Rp', $made, "$context/bin/image/")
            Invoke-Native cp @('-p', (Join-Path $Root 'Dockerfile'), $context)
        }
        $version = (Get-Content -LiteralPath (Join-Path $Root 'VERSION') -TotalCount 1)
        Invoke-Change az @('acr', 'build', '--registry', $Registry, '--image', "rsms-job:$Sha", '--platform', 'linux/amd64', '--file', 'Dockerfile',
            '--build-arg', "COMMIT=$Sha", '--build-arg', "VERSION=$version", $context)
        if (Test-Failed) { Stop-Script "$Registry could not build the image; see above" }
    } finally {
        if (Test-Path -LiteralPath $context) { Remove-Item -LiteralPath $context -Recurse -Force }
    }
}

# Assert-Job compares the job with what was asked for: a rule that has lost its
# identity never starts anything, and nobody says so.
function Assert-Job([string]$Job, [string]$Reference, [string]$AccountName, [string]$Queue) {
    $scale = 'properties.configuration.eventTriggerConfig.scale'
    $rule = "$scale.rules[0]"
    $found = @(Read-Az @('resource', 'show', '--resource-group', $ResourceGroup, '--name', $Job, '--resource-type', 'Microsoft.App/jobs', '--api-version', $JobApi,
        '--query', "[properties.template.containers[0].image, $rule.type, $rule.metadata.accountName, $rule.metadata.queueName, $rule.metadata.queueLength, $rule.metadata.queueLengthStrategy, $scale.minExecutions, properties.configuration.replicaRetryLimit, $rule.identity]",
        '--output', 'tsv'))
    if (Test-Failed) { Stop-Script "job $Job cannot be read back" }
    $wrong = ''
    $want = @(@('image', $Reference), @('rule.type', 'azure-queue'), @('rule.accountName', $AccountName), @('rule.queueName', $Queue),
        @('rule.queueLength', '1'), @('rule.queueLengthStrategy', 'all'), @('minExecutions', '0'), @('replicaRetryLimit', '0'))
    for ($n = 0; $n -lt $want.Count; $n++) {
        if ($found[$n] -cne $want[$n][1]) { $wrong += "`n  $($want[$n][0]) is '$($found[$n])', not '$($want[$n][1])'" }
    }
    if ($found[8] -notlike '/subscriptions/*/userAssignedIdentities/*') { $wrong += "`n  rule.identity is '$($found[8])', not a user-assigned identity: nothing would ever start" }
    if ($wrong) { Stop-Script "job $Job is not as it was deployed:$wrong`nWas it changed by hand, or does something else deploy it? Run this again" }
    Say "job ${Job}: image and scale rule are as they should be"
}

# Send-Probe puts a probe on the queue and gives its job id. A role that was just
# given takes minutes to work.
function Send-Probe([string]$AccountName, [string]$Queue, [datetime]$Deadline) {
    $probe = 'probe-' + (Get-Date).ToUniversalTime().ToString('yyyyMMddHHmmss') + '-' + (Get-Random -Maximum 32768)
    $text = ConvertTo-Base64 ('{"type":"worker.probe","version":1,"job_id":"' + $probe + '"}')
    while ($true) {
        Invoke-Change az @('storage', 'message', 'put', '--queue-name', $Queue, '--account-name', $AccountName, '--auth-mode', 'login',
            '--content', $text, '--time-to-live', '3600', '--output', 'none') | Out-Null
        if (-not (Test-Failed)) { break }
        if ((Get-Date) -ge $Deadline) { Stop-Script "no probe could be sent to queue $Queue of $AccountName in $Timeout s. It takes Storage Queue Data Message Sender, which the deployment gives, and some minutes (-Timeout), and a way through the firewall of the account" }
        Say 'no probe could be sent yet'
        Start-Sleep -Seconds $Poll
    }
    if (-not $DryRun) { Say "probe $probe is on queue $Queue; an execution starts within the polling interval" }
    return $probe
}

# Wait-Probe waits until the run record shows the probe, and this commit.
function Wait-Probe([string]$Job, [string]$AccountName, [string]$Queue, [string]$Runs, [string]$Sha) {
    $deadline = (Get-Date).AddSeconds($Timeout)
    $tries = 1
    $probe = Send-Probe $AccountName $Queue $deadline
    if ($DryRun) { return }
    while ($true) {
        $record = @(Read-Az @('storage', 'entity', 'show', '--table-name', $Runs, '--partition-key', 'worker.probe', '--row-key', 'current',
            '--account-name', $AccountName, '--auth-mode', 'login', '--query', '[JobId, State, Commit, Reason, Detail]', '--output', 'tsv') -Quiet)
        if (-not (Test-Failed) -and $record.Count -gt 2 -and $record[0] -ceq $probe) {
            if ($record[2] -ceq $Sha) { break }
            if ($tries -ge 3 -or (Get-Date) -ge $deadline) { Stop-Script "the probe was answered by commit $($record[2]), not by ${Sha}: old executions still take the messages. Wait until they end (az containerapp job execution list --name $Job --resource-group $ResourceGroup --output table), then run this again" }
            Say "commit $($record[2]) has answered, an execution from before: another probe"
            $tries++
            $probe = Send-Probe $AccountName $Queue $deadline
        } elseif ((Get-Date) -ge $deadline) {
            Say "Executions of ${Job}:"
            Read-Az @('containerapp', 'job', 'execution', 'list', '--name', $Job, '--resource-group', $ResourceGroup,
                '--query', '[].{name:name, status:properties.status, start:properties.startTime}', '--output', 'table') | Out-Host
            Stop-Script "no run record of probe $probe within $Timeout s. No execution in the list: the scale rule does not work (system logs). Failed ones: scripts/logs.sh --resource-group $ResourceGroup --prefix $Prefix. Otherwise more time: -Timeout"
        }
        Start-Sleep -Seconds $Poll
    }
    if ($record[1] -cne 'Completed') {
        Say "The probe of commit $Sha found ($($record[3])):"
        $record | Select-Object -Skip 4 | ForEach-Object { Say "  $_" }
        Stop-Script 'the deployment stands, but a job could not run in it: correct the above, then run this again'
    }
}

$GroupMissing = $false
Test-Options
Start-Common
$Foundation = "$Prefix-foundation"
$sha = Find-Commit
$Builder = Find-Builder
$Template = Get-TemplateArguments $sha
Assert-Providers "$(Get-SetHere windowsImage)$(Get-InFile windowsImage)"
Assert-ResourceGroup
$Was = Read-LastParameters
$Template = $Template + @(Get-Kept) + $Set
$registry = @(Assert-Registry)
$reference = $Image
if (-not $Image) {
    $reference = "$($registry[1])/rsms-job:$sha"
    Publish-Image $registry[0] $sha $reference
}
Invoke-Stage all $Deployment $reference
if ($DryRun) {
    Wait-Probe '<jobName>' '<storageAccountName>' '<queueName>' '<runsTable>' $sha
    Say 'then the job is read back and the run record of the probe is waited for; nothing was changed'
    exit 0
}
$job, $accountName, $queue, $runs, $server = Read-NeededOutputs @('jobName', 'storageAccountName', 'queueName', 'runsTable', 'registryLoginServer')
if (-not $Image -and $server -cne $registry[1]) { Stop-Script "the image is in $($registry[1]), but the job pulls from ${server}: run this again, and the image goes there" }
Assert-Job $job $reference $accountName $queue
Wait-Probe $job $accountName $queue $runs $sha
"deployed: job $job runs commit $sha and has answered a probe"
"  image  $reference"
"  queue  $queue of $accountName"
"  start  scripts/start.ps1 -ResourceGroup $ResourceGroup -Prefix $Prefix BASIN SCENARIO"
