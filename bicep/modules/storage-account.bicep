metadata description = 'A storage account that knows identities only: no keys, no public blobs.'

@description('Name of the account.')
@minLength(3)
@maxLength(24)
param name string

@description('Region of the account.')
param location string

@description('Tags of the account.')
param tags object

@description('How often the data is kept, and where.')
@allowed([
  'Standard_LRS'
  'Standard_ZRS'
  'Standard_GRS'
  'Standard_GZRS'
])
param sku string

@description('Container of the results.')
param resultsContainer string

@description('Container of the step cache.')
param cacheContainer string

@description('Days that an entry of the step cache is kept.')
@minValue(1)
@maxValue(3650)
param cacheDays int

@description('Days that run logs are kept, counted from their last change.')
@minValue(1)
@maxValue(3650)
param runLogDays int

@description('Resource id of the workspace that gets the log of the queues.')
param workspaceId string

resource account 'Microsoft.Storage/storageAccounts@2024-01-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: sku
  }
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2024-01-01' = {
  parent: account
  name: 'default'
  properties: {
    containerDeleteRetentionPolicy: {
      enabled: true
      days: 7
    }
    deleteRetentionPolicy: {
      enabled: true
      days: 7
    }
  }
}

// Run logs are {basin}/{scenario}/run/{job_id}/... in the container of the
// results. A prefix of a rule starts with the container and knows no wildcard,
// so none says "run" without naming every basin and scenario; index tags would
// need a role that may write tags, which Storage Blob Data Contributor may not.
// What tells them apart is the kind of blob: the program writes run logs as append
// blobs, and all else as block blobs.
resource lifecycle 'Microsoft.Storage/storageAccounts/managementPolicies@2024-01-01' = {
  parent: account
  name: 'default'
  dependsOn: [
    blobs
  ]
  properties: {
    policy: {
      rules: [
        {
          name: 'run-logs'
          enabled: true
          type: 'Lifecycle'
          definition: {
            filters: {
              blobTypes: [
                'appendBlob'
              ]
              prefixMatch: [
                '${resultsContainer}/'
              ]
            }
            actions: {
              baseBlob: {
                delete: {
                  daysAfterModificationGreaterThan: runLogDays
                }
              }
            }
          }
        }
        {
          name: 'step-cache'
          enabled: true
          type: 'Lifecycle'
          definition: {
            filters: {
              blobTypes: [
                'blockBlob'
              ]
              prefixMatch: [
                '${cacheContainer}/'
              ]
            }
            actions: {
              baseBlob: {
                delete: {
                  daysAfterModificationGreaterThan: cacheDays
                }
              }
            }
          }
        }
      ]
    }
  }
}

resource queues 'Microsoft.Storage/storageAccounts/queueServices@2024-01-01' = {
  parent: account
  name: 'default'
}

// What is read is left out: the scaler asks for the length of the queue every
// few seconds, and all of that would be paid for.
resource queueLog 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'rsms-queues'
  scope: queues
  properties: {
    workspaceId: workspaceId
    logAnalyticsDestinationType: 'Dedicated'
    logs: [
      {
        category: 'StorageWrite'
        enabled: true
      }
      {
        category: 'StorageDelete'
        enabled: true
      }
    ]
  }
}
