metadata description = 'The job that the queue starts, and the one that people start: two triggers, one template.'

@description('Name of the job that the queue starts.')
@minLength(2)
@maxLength(31)
param jobName string

@description('Name of the job that people start.')
@minLength(2)
@maxLength(31)
param manualJobName string

@description('Whether there is a job that people start.')
param manualJob bool

@description('Region of the jobs.')
param location string

@description('Tags of the jobs.')
param tags object

@description('Resource id of the environment.')
param environmentId string

@description('Full reference of the image.')
param image string

@description('Arguments of the program; none = it takes one message and runs it.')
param arguments string[]

@description('Host name of the registry of the image.')
param registryLoginServer string

@description('Variables of the program, by name.')
param settings object

@description('Processors of one execution.')
param cpu string

@description('Memory of one execution.')
param memory string

@description('Most executions at a time.')
@minValue(1)
param maxExecutions int

@description('Seconds between two looks at the queue.')
@minValue(1)
param pollingInterval int

@description('Seconds after which the platform ends an execution.')
@minValue(1)
param replicaTimeoutSeconds int

@description('Name of the storage account of the queue.')
param storageAccountName string

@description('Queue of the messages.')
param queueName string

@description('Resource id of the identity that the worker runs as.')
param runIdentityId string

@description('Resource id of the identity that the scale rule asks for the length of the queue with.')
param scaleIdentityId string

@description('Resource id of the identity that pulls the image.')
param pullIdentityId string

// User-assigned only: a system-assigned one is new with each new job, and the
// pull would begin before it has its role (C41, C43).
var identity = {
  type: 'UserAssigned'
  userAssignedIdentities: {
    '${pullIdentityId}': {}
    '${runIdentityId}': {}
    '${scaleIdentityId}': {}
  }
}

// A retry by the platform would run beside the redelivery by the queue, and it
// does not come after a timeout (C15): the queue alone decides.
var limits = {
  replicaRetryLimit: 0
  replicaTimeout: replicaTimeoutSeconds
  registries: [
    {
      server: registryLoginServer
      identity: pullIdentityId
    }
  ]
  // The process can get tokens of the first one only.
  identitySettings: [
    {
      identity: runIdentityId
      lifecycle: 'Main'
    }
    {
      identity: pullIdentityId
      lifecycle: 'None'
    }
    {
      identity: scaleIdentityId
      lifecycle: 'None'
    }
  ]
}

// The names that the scale rule has for the clouds.
var clouds = {
  AzureCloud: 'AzurePublicCloud'
  AzureUSGovernment: 'AzureUSGovernmentCloud'
  AzureChinaCloud: 'AzureChinaCloud'
}

var template = {
  containers: [
    {
      name: 'rsms-job'
      image: image
      args: arguments
      env: map(items(settings), setting => {
        name: setting.key
        value: setting.value
      })
      resources: {
        cpu: json(cpu)
        memory: memory
      }
    }
  ]
}

resource job 'Microsoft.App/jobs@2025-01-01' = {
  name: jobName
  location: location
  tags: tags
  identity: identity
  properties: {
    environmentId: environmentId
    workloadProfileName: 'Consumption'
    configuration: union(limits, {
      triggerType: 'Event'
      eventTriggerConfig: {
        parallelism: 1
        replicaCompletionCount: 1
        scale: {
          minExecutions: 0
          maxExecutions: maxExecutions
          pollingInterval: pollingInterval
          rules: [
            {
              name: 'queue'
              type: 'azure-queue'
              identity: scaleIdentityId
              // The default length is 5, and the strategy must count messages
              // that are hidden because they are being worked on (C01, C07).
              metadata: {
                accountName: storageAccountName
                queueName: queueName
                queueLength: '1'
                queueLengthStrategy: 'all'
                cloud: clouds[environment().name]
              }
            }
          ]
        }
      }
    })
    template: template
  }
}

// A start by hand of the job above keeps the queue from starting it (C08).
resource jobByHand 'Microsoft.App/jobs@2025-01-01' = if (manualJob) {
  name: manualJobName
  location: location
  tags: tags
  identity: identity
  properties: {
    environmentId: environmentId
    workloadProfileName: 'Consumption'
    configuration: union(limits, {
      triggerType: 'Manual'
      manualTriggerConfig: {
        parallelism: 1
        replicaCompletionCount: 1
      }
    })
    template: template
  }
}
