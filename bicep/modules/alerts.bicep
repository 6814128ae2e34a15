metadata description = 'Alerts by log query: there is no metric of jobs to alert on (C46), and no metric of a single queue.'

@description('Start of the names.')
param namePrefix string

@description('Region of the rules.')
param location string

@description('Tags of the rules.')
param tags object

@description('Resource id of the workspace with the logs.')
param workspaceId string

@description('Resource id of the environment of the jobs.')
param environmentId string

@description('Names of the jobs.')
param jobNames string[]

@description('Name of the storage account of the queues.')
param storageAccountName string

@description('Queue of the messages.')
param queueName string

@description('Queue of the messages that were put aside.')
param poisonQueueName string

@description('Whether the workspace has the log of the queues.')
param queueLog bool

@description('Who is told by mail; none = alerts are seen in the portal only.')
param alertEmails string[]

@description('Minutes that a message may wait for its first delivery.')
@minValue(5)
@maxValue(60)
param maxMessageAgeMinutes int

resource people 'Microsoft.Insights/actionGroups@2023-01-01' = {
  name: '${namePrefix}-alerts'
  location: 'global'
  tags: tags
  properties: {
    enabled: true
    groupShortName: take(namePrefix, 12)
    emailReceivers: [
      for (address, i) in alertEmails: {
        name: 'mail-${i}'
        emailAddress: address
        useCommonAlertSchema: true
      }
    ]
  }
}

var systemLog = 'ContainerAppSystemLogs | where _ResourceId =~ "${environmentId}"'
var consoleLog = 'ContainerAppConsoleLogs | where _ResourceId =~ "${environmentId}" | where ContainerName == "rsms-job" | extend line = parse_json(Log)'
var queueRequests = 'StorageQueueLogs | where AccountName == "${storageAccountName}" | where tostring(StatusCode) startswith "2"'
var ofQueue = 'where Uri contains "/${queueName}/messages"'
var ofPoisonQueue = 'where Uri contains "/${poisonQueueName}/messages"'
var quotedJobs = join(map(jobNames, job => '"${job}"'), ', ')

// Exit codes that are no failure: 12 cancelled by a user, 14 the scenario is
// busy, 130 and 143 the message was handed back.
var fine = '0, 12, 14, 130, 143'

// The platform has its own words for an execution that it ended, and its own
// lines for short ones are missing at times (C45), so both logs are asked. A line
// without a number has none that is in the list either, hence isnotnull.
var failedQuery = join([
  'union isfuzzy=true'
  '(${systemLog} | where JobName in (${quotedJobs})'
  '| extend code = toint(extract(@"exit code\\W+([0-9]+)", 1, Log))'
  '| where (isnotnull(code) and code !in (${fine})) or Reason in ("DeadlineExceeded", "BackoffLimitExceeded")'
  '| project TimeGenerated, Text = Log),'
  '(${consoleLog}'
  '| where isnotnull(line.exit) and toint(line.exit) !in (${fine})'
  '| project TimeGenerated, Text = Log)'
], '\n')

var pullQuery = '${systemLog} | where Reason startswith "ImagePull" or Log has "ImagePullFailure"'

// One line may stand for several failures (C31). One alone happens, and heals.
var scalerQuery = join([
  '${systemLog} | where Reason in ("KEDAScalerFailed", "ScaledJobCheckFailed")'
  '| summarize failures = sum(coalesce(toint(column_ifexists("Count", 1)), 1))'
  '| where failures > 2'
], '\n')

// The platform knows no age of a message. The worker logs with each claim when
// the message was put; later deliveries are late by their back-off. The line is of
// level info: where LOG_LEVEL is warn, this alert is silent.
var lateQuery = join([
  consoleLog
  '| where tostring(line.msg) == "message claimed" and toint(line.dequeue_count) == 1'
  '| extend waited = datetime_diff("minute", todatetime(line["time"]), todatetime(line.inserted_at))'
  '| where waited >= ${maxMessageAgeMinutes}'
], '\n')

// Where nothing is claimed, nothing is logged by a worker either. Messages are
// put, and no message is renewed, deleted or
// cleared: nobody works.
var stuckQuery = join([
  queueRequests
  '| ${ofQueue}'
  '| summarize put = countif(OperationName == "PutMessage" and TimeGenerated between (ago(${maxMessageAgeMinutes * 2}m) .. ago(${maxMessageAgeMinutes}m))),'
  'moved = countif(OperationName in ("UpdateMessage", "DeleteMessage", "ClearMessages") and TimeGenerated > ago(${maxMessageAgeMinutes * 2}m))'
  '| where put > 0 and moved == 0'
], '\n')

var putAsideQuery = queueLog
  ? '${queueRequests} | ${ofPoisonQueue} | where OperationName == "PutMessage"'
  : '${consoleLog} | where tostring(line.msg) startswith "message put into the poison queue"'

// A rule sees two days at most. What lies longer was told before.
var leftAsideQuery = join([
  queueRequests
  '| ${ofPoisonQueue}'
  '| summarize put = countif(OperationName == "PutMessage"), gone = countif(OperationName == "DeleteMessage"), cleared = countif(OperationName == "ClearMessages")'
  '| where put > gone and cleared == 0'
], '\n')

// Windows are longer than the time between two looks, because lines come late.
var fromJobs = [
  {
    name: 'failed-executions'
    description: 'An execution of the job failed.'
    severity: 2
    query: failedQuery
    threshold: 0
    window: 'PT15M'
    every: 'PT5M'
  }
  {
    name: 'image-pull'
    description: 'The image of the job cannot be pulled: no message is worked on.'
    severity: 1
    query: pullQuery
    threshold: 0
    window: 'PT15M'
    every: 'PT5M'
  }
  {
    name: 'scaler'
    description: 'The scale rule cannot read the length of the queue: no message starts a job.'
    severity: 1
    query: scalerQuery
    threshold: 0
    window: 'PT15M'
    every: 'PT5M'
  }
  {
    name: 'message-age'
    description: 'Messages waited ${maxMessageAgeMinutes} minutes or more before they were taken.'
    severity: 3
    query: lateQuery
    threshold: 0
    window: 'PT30M'
    every: 'PT15M'
  }
  {
    name: 'poison'
    description: 'A message was put into ${poisonQueueName}.'
    severity: 2
    query: putAsideQuery
    threshold: 0
    window: 'PT30M'
    every: 'PT5M'
  }
]

var fromQueues = [
  {
    name: 'stuck'
    description: 'Messages wait in ${queueName}, and nobody takes them.'
    severity: 1
    query: stuckQuery
    threshold: 0
    window: 'PT2H'
    every: 'PT15M'
  }
  {
    name: 'poison-left'
    description: 'Messages of the last two days are still in ${poisonQueueName}.'
    severity: 3
    query: leftAsideQuery
    threshold: 0
    window: 'P2D'
    every: 'PT1H'
  }
]

resource rules 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [
  for rule in concat(fromJobs, queueLog ? fromQueues : []): {
    name: '${namePrefix}-${rule.name}'
    location: location
    tags: tags
    kind: 'LogAlert'
    properties: {
      displayName: '${namePrefix}: ${rule.name}'
      description: rule.description
      enabled: true
      severity: rule.severity
      scopes: [
        workspaceId
      ]
      evaluationFrequency: rule.every
      windowSize: rule.window
      autoMitigate: true
      // A table is there only after its first line has come.
      skipQueryValidation: true
      criteria: {
        allOf: [
          {
            query: rule.query
            timeAggregation: 'Count'
            operator: 'GreaterThan'
            threshold: rule.threshold
            failingPeriods: {
              numberOfEvaluationPeriods: 1
              minFailingPeriodsToAlert: 1
            }
          }
        ]
      }
      actions: {
        actionGroups: [
          people.id
        ]
      }
    }
  }
]
