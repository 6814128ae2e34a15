metadata description = 'What one identity may do with the data: read basins, write results, rows, notices and the step cache.'

@description('Name of the account.')
param accountName string

@description('Names of all tables.')
param tableNames string[]

@description('Container of the basins.')
param basinContainer string

@description('Container of the results.')
param resultsContainer string

@description('Container of the step cache.')
param cacheContainer string

@description('Queue of the notices; empty = none.')
param doneQueueName string

@description('Principal id of the identity.')
param principalId string

var blobDataContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
var blobDataReader = '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1'
var tableDataContributor = '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
var queueDataReader = '19e7f393-937e-4f77-808e-94535e297925'
var queueDataMessageSender = 'c6a89b2d-59bc-44d0-9896-0f6e12d7b80a'

resource account 'Microsoft.Storage/storageAccounts@2024-01-01' existing = {
  name: accountName
}

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

resource cache 'Microsoft.Storage/storageAccounts/blobServices/containers@2024-01-01' existing = {
  parent: blobService
  name: cacheContainer
}

resource tableService 'Microsoft.Storage/storageAccounts/tableServices@2024-01-01' existing = {
  parent: account
  name: 'default'
}

resource tables 'Microsoft.Storage/storageAccounts/tableServices/tables@2024-01-01' existing = [
  for table in tableNames: {
    parent: tableService
    name: table
  }
]

resource queueService 'Microsoft.Storage/storageAccounts/queueServices@2024-01-01' existing = {
  parent: account
  name: 'default'
}

resource doneQueue 'Microsoft.Storage/storageAccounts/queueServices/queues@2024-01-01' existing = {
  parent: queueService
  name: empty(doneQueueName) ? 'none' : doneQueueName
}

resource onBasins 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(basins.id, principalId, blobDataReader)
  scope: basins
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', blobDataReader)
  }
}

resource onResults 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(results.id, principalId, blobDataContributor)
  scope: results
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', blobDataContributor)
  }
}

resource onCache 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(cache.id, principalId, blobDataContributor)
  scope: cache
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', blobDataContributor)
  }
}

resource onTables 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (table, i) in tableNames: {
    name: guid(tables[i].id, principalId, tableDataContributor)
    scope: tables[i]
    properties: {
      principalId: principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', tableDataContributor)
    }
  }
]

resource onDone 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in [
    queueDataMessageSender
    queueDataReader
  ]: if (!empty(doneQueueName)) {
    name: guid(doneQueue.id, principalId, role)
    scope: doneQueue
    properties: {
      principalId: principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role)
    }
  }
]
