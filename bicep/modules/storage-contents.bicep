metadata description = 'Queues, tables and containers in an account that is there. Nothing else of the account is changed.'

@description('Name of the account.')
param accountName string

@description('Queue of the messages.')
param queueName string

@description('Queue of the messages that were put aside.')
param poisonQueueName string

@description('Queue of the notices; empty = none.')
param doneQueueName string

@description('Names of all tables.')
param tableNames string[]

@description('Names of all containers.')
param containerNames string[]

resource account 'Microsoft.Storage/storageAccounts@2024-01-01' existing = {
  name: accountName
}

resource queueService 'Microsoft.Storage/storageAccounts/queueServices@2024-01-01' existing = {
  parent: account
  name: 'default'
}

resource queue 'Microsoft.Storage/storageAccounts/queueServices/queues@2024-01-01' = {
  parent: queueService
  name: queueName
}

resource poisonQueue 'Microsoft.Storage/storageAccounts/queueServices/queues@2024-01-01' = {
  parent: queueService
  name: poisonQueueName
}

resource doneQueue 'Microsoft.Storage/storageAccounts/queueServices/queues@2024-01-01' = if (!empty(doneQueueName)) {
  parent: queueService
  name: empty(doneQueueName) ? 'none' : doneQueueName
}

resource tableService 'Microsoft.Storage/storageAccounts/tableServices@2024-01-01' existing = {
  parent: account
  name: 'default'
}

resource tables 'Microsoft.Storage/storageAccounts/tableServices/tables@2024-01-01' = [
  for table in tableNames: {
    parent: tableService
    name: table
  }
]

resource blobService 'Microsoft.Storage/storageAccounts/blobServices@2024-01-01' existing = {
  parent: account
  name: 'default'
}

resource containers 'Microsoft.Storage/storageAccounts/blobServices/containers@2024-01-01' = [
  for container in containerNames: {
    parent: blobService
    name: container
    properties: {
      publicAccess: 'None'
    }
  }
]
