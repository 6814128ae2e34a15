metadata description = 'What the identities of the job may do with the queues.'

@description('Name of the account.')
param accountName string

@description('Queue of the messages.')
param queueName string

@description('Queue of the messages that were put aside.')
param poisonQueueName string

@description('Principal id of the identity that the worker runs as.')
param runPrincipalId string

@description('Principal id of the identity that the scale rule asks for the length of the queue with.')
param scalePrincipalId string

var queueDataContributor = '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
var queueDataReader = '19e7f393-937e-4f77-808e-94535e297925'
var queueDataMessageSender = 'c6a89b2d-59bc-44d0-9896-0f6e12d7b80a'

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

// Nothing less will do: a Message Processor may not renew a message (C47).
resource runOnQueue 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(queue.id, runPrincipalId, queueDataContributor)
  scope: queue
  properties: {
    principalId: runPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', queueDataContributor)
  }
}

// The worker puts messages aside and looks whether one is there already. It
// takes none away: that is for people.
resource runOnPoison 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in [
    queueDataMessageSender
    queueDataReader
  ]: {
    name: guid(poisonQueue.id, runPrincipalId, role)
    scope: poisonQueue
    properties: {
      principalId: runPrincipalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role)
    }
  }
]

resource scaleOnQueue 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(queue.id, scalePrincipalId, queueDataReader)
  scope: queue
  properties: {
    principalId: scalePrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', queueDataReader)
  }
}
