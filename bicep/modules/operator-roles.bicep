metadata description = 'What an operator may do: send the probe of a deployment and read its answer, or all that the commands of the program do from a laptop.'

@description('Name of the account.')
param accountName string

@description('Queue of the messages.')
param queueName string

@description('Queue of the messages that were put aside.')
param poisonQueueName string

@description('Table of the run records.')
param runsTable string

@description('Table of the scenarios.')
param scenariosTable string

@description('Names of the tables of the plume.')
param plumeTables string[]

@description('Container of the basins.')
param basinContainer string

@description('Container of the results.')
param resultsContainer string

@description('Object id of the operator.')
param principalId string

@description('What the operator is.')
@allowed([
  'User'
  'Group'
  'ServicePrincipal'
])
param principalType string

@description('probe = send messages and read run records; operate = also load, enqueue, cancel, read results, work off the poison queue.')
@allowed([
  'probe'
  'operate'
])
param access string

var blobDataContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
var blobDataReader = '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1'
var queueDataContributor = '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
var queueDataMessageSender = 'c6a89b2d-59bc-44d0-9896-0f6e12d7b80a'
var tableDataContributor = '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
var tableDataReader = '76199698-9eea-4c19-bc75-cec21354c6b6'

var operates = access == 'operate'

resource account 'Microsoft.Storage/storageAccounts@2024-01-01' existing = {
  name: accountName
}

resource queueService 'Microsoft.Storage/storageAccounts/queueServices@2024-01-01' existing = {
  parent: account
  name: 'default'
}

resource queue 'Microsoft.Storage/storageAccounts/queueServices/queues@2024-01-01' existing = {
  parent: queueService
  name: queueName
}

resource poisonQueue 'Microsoft.Storage/storageAccounts/queueServices/queues@2024-01-01' existing = {
  parent: queueService
  name: poisonQueueName
}

resource tableService 'Microsoft.Storage/storageAccounts/tableServices@2024-01-01' existing = {
  parent: account
  name: 'default'
}

resource runs 'Microsoft.Storage/storageAccounts/tableServices/tables@2024-01-01' existing = {
  parent: tableService
  name: runsTable
}

resource scenarios 'Microsoft.Storage/storageAccounts/tableServices/tables@2024-01-01' existing = {
  parent: tableService
  name: scenariosTable
}

resource plumes 'Microsoft.Storage/storageAccounts/tableServices/tables@2024-01-01' existing = [
  for table in plumeTables: {
    parent: tableService
    name: table
  }
]

resource blobService 'Microsoft.Storage/storageAccounts/blobServices@2024-01-01' existing = {
  parent: account
  name: 'default'
}

resource basins 'Microsoft.Storage/storageAccounts/blobServices/containers@2024-01-01' existing = {
  parent: blobService
  name: basinContainer
}

resource results 'Microsoft.Storage/storageAccounts/blobServices/containers@2024-01-01' existing = {
  parent: blobService
  name: resultsContainer
}

resource probeOnQueue 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(queue.id, principalId, queueDataMessageSender)
  scope: queue
  properties: {
    principalId: principalId
    principalType: principalType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', queueDataMessageSender)
  }
}

resource probeOnRuns 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(runs.id, principalId, tableDataReader)
  scope: runs
  properties: {
    principalId: principalId
    principalType: principalType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', tableDataReader)
  }
}

// enqueue puts a message hidden, records the job, then shows the message or takes
// it back: a sender can do neither.
resource onQueue 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (operates) {
  name: guid(queue.id, principalId, queueDataContributor)
  scope: queue
  properties: {
    principalId: principalId
    principalType: principalType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', queueDataContributor)
  }
}

// poison takes messages, shows them, and puts them back or drops them.
resource onPoison 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (operates) {
  name: guid(poisonQueue.id, principalId, queueDataContributor)
  scope: poisonQueue
  properties: {
    principalId: principalId
    principalType: principalType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', queueDataContributor)
  }
}

// init loads scenarios; enqueue sets them to Queued.
resource onScenarios 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (operates) {
  name: guid(scenarios.id, principalId, tableDataContributor)
  scope: scenarios
  properties: {
    principalId: principalId
    principalType: principalType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', tableDataContributor)
  }
}

// cancel writes into the run record.
resource onRuns 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (operates) {
  name: guid(runs.id, principalId, tableDataContributor)
  scope: runs
  properties: {
    principalId: principalId
    principalType: principalType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', tableDataContributor)
  }
}

resource onPlumes 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (table, i) in plumeTables: if (operates) {
    name: guid(plumes[i].id, principalId, tableDataReader)
    scope: plumes[i]
    properties: {
      principalId: principalId
      principalType: principalType
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', tableDataReader)
    }
  }
]

// init loads basins.
resource onBasins 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (operates) {
  name: guid(basins.id, principalId, blobDataContributor)
  scope: basins
  properties: {
    principalId: principalId
    principalType: principalType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', blobDataContributor)
  }
}

resource onResults 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (operates) {
  name: guid(results.id, principalId, blobDataReader)
  scope: results
  properties: {
    principalId: principalId
    principalType: principalType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', blobDataReader)
  }
}
