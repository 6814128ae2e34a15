metadata description = 'rsms-job: a queue, a job that it starts, and all that the two need.'

targetScope = 'resourceGroup'

@description('Start of all names: lowercase letters and digits, a letter first.')
@minLength(2)
@maxLength(10)
param namePrefix string = 'rsms'

@description('Region of all that is made.')
param location string = resourceGroup().location

@description('What is deployed. foundation = everything but the jobs: the registry must be there before there can be an image.')
@allowed([
  'all'
  'foundation'
])
param stage string = 'all'

@description('Image of the job for Linux, host/name:tag. Empty = no jobs, as with foundation.')
param image string = ''

@description('Commit that the image was built from: a tag of the jobs.')
param commit string = ''

@description('Storage account that is there and shall be used; empty = one is made.')
@maxLength(24)
param storageAccountName string = ''

@description('Resource group of that account; empty = this one.')
param storageResourceGroup string = ''

@description('How often the data of a new account is kept, and where.')
@allowed([
  'Standard_LRS'
  'Standard_ZRS'
  'Standard_GRS'
  'Standard_GZRS'
])
param storageSku string = 'Standard_LRS'

@description('Registry that is there and shall be used; empty = one is made.')
@maxLength(50)
param registryName string = ''

@description('Resource group of that registry; empty = this one.')
param registryResourceGroup string = ''

@description('Size of a new registry. Windows images may fill a Basic one.')
@allowed([
  'Basic'
  'Standard'
  'Premium'
])
param registrySku string = 'Basic'

@description('Log Analytics workspace that is there and shall be used; empty = one is made.')
@maxLength(63)
param logAnalyticsName string = ''

@description('Resource group of that workspace; empty = this one.')
param logAnalyticsResourceGroup string = ''

@description('Days that a new workspace keeps logs.')
@minValue(30)
@maxValue(730)
param logRetentionDays int = 30

@description('Resource id of a subnet for the environment, /27 or larger and delegated to Microsoft.App/environments; empty = a network of the platform.')
param infrastructureSubnetId string = ''

@description('Queue of the messages.')
@minLength(3)
@maxLength(56)
param queueName string = 'rsms-jobs'

@description('Queue of the messages that were put aside.')
@minLength(3)
@maxLength(63)
param poisonQueueName string = '${queueName}-poison'

@description('Queue of the notices, one per finished job; empty = none.')
@maxLength(63)
param doneQueueName string = ''

@description('Container of the basins.')
@minLength(3)
@maxLength(63)
param basinContainer string = 'riverbasin'

@description('Container of the results.')
@minLength(3)
@maxLength(63)
param resultsContainer string = 'rsms-results'

@description('Container of the step cache.')
@minLength(3)
@maxLength(63)
param cacheContainer string = 'rsms-cache'

@description('Days that an entry of the step cache is used; in a new account it is removed then.')
@minValue(1)
@maxValue(3650)
param cacheDays int = 14

@description('Table of the scenarios.')
@minLength(3)
@maxLength(63)
param scenariosTable string = 'Scenarios'

@description('Table of the run records.')
@minLength(3)
@maxLength(63)
param runsTable string = 'Runs'

@description('Table of the plume by time.')
@minLength(3)
@maxLength(63)
param plumeByTimeTable string = 'PlumeByTime'

@description('Table of the plume by river mile.')
@minLength(3)
@maxLength(63)
param plumeByMileTable string = 'PlumeByMile'

@description('Days that run logs are kept in a new account.')
@minValue(1)
@maxValue(3650)
param runLogDays int = 30

@description('Most executions at a time. Times cpu, it must stay within the cores that the subscription may use in an environment, 100 at first.')
@minValue(1)
@maxValue(400)
param maxExecutions int = 10

@description('Seconds between two looks at the queue.')
@minValue(10)
@maxValue(300)
param pollingInterval int = 30

@description('Processors of one execution; it has twice as many Gi of memory.')
@allowed([
  '0.25'
  '0.5'
  '0.75'
  '1'
  '1.25'
  '1.5'
  '1.75'
  '2'
  '4'
])
param cpu string = '1'

@description('Seconds that one job may take, all attempts apart.')
@minValue(60)
@maxValue(86400)
param jobTimeoutSeconds int = 7200

@description('Deliveries that a message may have.')
@minValue(1)
@maxValue(100)
param maxDequeueCount int = 5

@description('First back-off in seconds, doubled per attempt. Long ones start an idle execution with every look at the queue.')
@minValue(0)
@maxValue(300)
param retryDelaySeconds int = 15

@description('Seconds that a message is held without renewal.')
@minValue(30)
@maxValue(3600)
param visibilityTimeoutSeconds int = 120

@description('Whether there is a second job, with the same template, that people start.')
param manualJob bool = true

@description('Variables of the program beyond those set here, by name. No secrets: they are read by everybody who may read the job.')
param extraSettings object = {}

@description('Image for Windows, host/name:tag of the same registry. When given, the jobs run no engine: they start one container group for each message.')
param windowsImage string = ''

@description('Resource group of the container groups; empty = this one.')
param windowsResourceGroup string = ''

@description('Processors of a container group.')
@minValue(1)
@maxValue(4)
param windowsCpu int = 2

@description('Memory of a container group in GB.')
@minValue(1)
@maxValue(16)
param windowsMemoryGb int = 4

@description('Who is told of alerts by mail; none = alerts are seen in the portal only.')
param alertEmails string[] = []

@description('Minutes that a message may wait before there is an alert.')
@minValue(5)
@maxValue(60)
param maxMessageAgeMinutes int = 30

@description('Object id of an operator; empty = none.')
param operatorPrincipalId string = ''

@description('What the operator is.')
@allowed([
  'User'
  'Group'
  'ServicePrincipal'
])
param operatorPrincipalType string = 'User'

@description('What the operator may do. probe = send messages and read run records, all that a deployment needs; operate = also load basins and scenarios, enqueue, cancel, read results, work off the poison queue.')
@allowed([
  'probe'
  'operate'
])
param operatorAccess string = 'operate'

// The pairs that the platform takes, and no others.
var memories = {
  '0.25': '0.5Gi'
  '0.5': '1Gi'
  '0.75': '1.5Gi'
  '1': '2Gi'
  '1.25': '2.5Gi'
  '1.5': '3Gi'
  '1.75': '3.5Gi'
  '2': '4Gi'
  '4': '8Gi'
}

var unique = uniqueString(resourceGroup().id)
var tags = {
  application: 'rsms-job'
}

var newStorage = empty(storageAccountName)
var storageName = newStorage ? '${namePrefix}${unique}' : storageAccountName
var storageGroup = newStorage || empty(storageResourceGroup) ? resourceGroup().name : storageResourceGroup

var newRegistry = empty(registryName)
var pullRegistry = newRegistry ? '${namePrefix}${unique}' : registryName
var registryGroup = newRegistry || empty(registryResourceGroup) ? resourceGroup().name : registryResourceGroup

var newWorkspace = empty(logAnalyticsName)
var workspaceName = newWorkspace ? '${namePrefix}-logs' : logAnalyticsName
var workspaceGroup = newWorkspace || empty(logAnalyticsResourceGroup) ? resourceGroup().name : logAnalyticsResourceGroup
var workspaceId = resourceId(workspaceGroup, 'Microsoft.OperationalInsights/workspaces', workspaceName)

var tableNames = [
  scenariosTable
  runsTable
  plumeByTimeTable
  plumeByMileTable
]
var jobName = '${namePrefix}-job'
var manualJobName = '${namePrefix}-job-manual'
var withJobs = stage == 'all' && !empty(image)
var withWindows = !empty(windowsImage)
var groupsGroup = empty(windowsResourceGroup) ? resourceGroup().name : windowsResourceGroup

// What the platform needs around the time that the job itself may take: start
// deadline, hand-back, and for Windows the pull of a large image.
var marginSeconds = withWindows ? 1800 : 300
var replicaTimeoutSeconds = jobTimeoutSeconds + marginSeconds

resource runIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: '${namePrefix}-run'
  location: location
  tags: tags
}

resource scaleIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: '${namePrefix}-scale'
  location: location
  tags: tags
}

resource pullIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: '${namePrefix}-pull'
  location: location
  tags: tags
}

module workspace 'modules/workspace.bicep' = if (newWorkspace) {
  name: 'rsms-workspace'
  params: {
    name: workspaceName
    location: location
    tags: tags
    retentionDays: logRetentionDays
  }
}

module storage 'modules/storage-account.bicep' = if (newStorage) {
  name: 'rsms-storage-account'
  dependsOn: [
    workspace
  ]
  params: {
    name: storageName
    location: location
    tags: tags
    sku: storageSku
    resultsContainer: resultsContainer
    cacheContainer: cacheContainer
    cacheDays: cacheDays
    runLogDays: runLogDays
    workspaceId: workspaceId
  }
}

module contents 'modules/storage-contents.bicep' = {
  name: 'rsms-storage-contents'
  scope: resourceGroup(storageGroup)
  dependsOn: [
    storage
  ]
  params: {
    accountName: storageName
    queueName: queueName
    poisonQueueName: poisonQueueName
    doneQueueName: doneQueueName
    tableNames: tableNames
    containerNames: [
      basinContainer
      resultsContainer
      cacheContainer
    ]
  }
}

module queueRoles 'modules/queue-roles.bicep' = {
  name: 'rsms-queue-roles'
  scope: resourceGroup(storageGroup)
  dependsOn: [
    contents
  ]
  params: {
    accountName: storageName
    queueName: queueName
    poisonQueueName: poisonQueueName
    runPrincipalId: runIdentity.properties.principalId
    scalePrincipalId: scaleIdentity.properties.principalId
  }
}

module operatorRoles 'modules/operator-roles.bicep' = if (!empty(operatorPrincipalId)) {
  name: 'rsms-operator-roles'
  scope: resourceGroup(storageGroup)
  dependsOn: [
    contents
  ]
  params: {
    accountName: storageName
    queueName: queueName
    poisonQueueName: poisonQueueName
    runsTable: runsTable
    scenariosTable: scenariosTable
    plumeTables: [
      plumeByTimeTable
      plumeByMileTable
    ]
    basinContainer: basinContainer
    resultsContainer: resultsContainer
    principalId: operatorPrincipalId
    principalType: operatorPrincipalType
    access: operatorAccess
  }
}

module storeRoles 'modules/store-roles.bicep' = {
  name: 'rsms-store-roles'
  scope: resourceGroup(storageGroup)
  dependsOn: [
    contents
  ]
  params: {
    accountName: storageName
    tableNames: tableNames
    basinContainer: basinContainer
    resultsContainer: resultsContainer
    cacheContainer: cacheContainer
    doneQueueName: doneQueueName
    principalId: runIdentity.properties.principalId
  }
}

module groupIdentity 'modules/group-identity.bicep' = if (withWindows) {
  name: 'rsms-group-identity'
  params: {
    name: '${namePrefix}-group'
    location: location
    tags: tags
    runPrincipalId: runIdentity.properties.principalId
  }
}

module groupStoreRoles 'modules/store-roles.bicep' = if (withWindows) {
  name: 'rsms-group-store-roles'
  scope: resourceGroup(storageGroup)
  dependsOn: [
    contents
  ]
  params: {
    accountName: storageName
    tableNames: tableNames
    basinContainer: basinContainer
    resultsContainer: resultsContainer
    cacheContainer: cacheContainer
    doneQueueName: doneQueueName
    principalId: groupIdentity!.outputs.principalId
  }
}

module groupRoles 'modules/group-roles.bicep' = if (withWindows) {
  name: 'rsms-group-roles'
  scope: resourceGroup(groupsGroup)
  params: {
    runPrincipalId: runIdentity.properties.principalId
  }
}

module registry 'modules/registry.bicep' = if (newRegistry) {
  name: 'rsms-registry'
  params: {
    name: pullRegistry
    location: location
    tags: tags
    sku: registrySku
  }
}

module pull 'modules/registry-pull.bicep' = {
  name: 'rsms-registry-pull'
  scope: resourceGroup(registryGroup)
  dependsOn: [
    registry
  ]
  params: {
    registryName: pullRegistry
    principalIds: concat(
      [pullIdentity.properties.principalId],
      withWindows ? [groupIdentity!.outputs.principalId] : []
    )
  }
}

module managed 'modules/environment.bicep' = {
  name: 'rsms-environment'
  dependsOn: [
    workspace
  ]
  params: {
    name: '${namePrefix}-environment'
    location: location
    tags: tags
    workspaceName: workspaceName
    workspaceResourceGroup: workspaceGroup
    infrastructureSubnetId: infrastructureSubnetId
  }
}

var settings = {
  AZURE_STORAGE_ACCOUNT_NAME: storageName
  AZURE_CLIENT_ID: runIdentity.properties.clientId
  LOG_FORMAT: 'json'
  RSMS_CACHE_BLOB_CONTAINER: cacheContainer
  RSMS_CACHE_MAX_DAYS: string(cacheDays)
  RSMS_DONE_QUEUE_NAME: doneQueueName
  RSMS_JOB_TIMEOUT_SEC: string(jobTimeoutSeconds)
  RSMS_PLUME_BY_MILE_TABLE: plumeByMileTable
  RSMS_PLUME_BY_TIME_TABLE: plumeByTimeTable
  RSMS_REPLICA_TIMEOUT_SEC: string(replicaTimeoutSeconds)
  RSMS_REQUIRE_IDENTITY: 'true'
  RSMS_RESULTS_BLOB_CONTAINER: resultsContainer
  RSMS_RETRY_DELAY_SEC: string(retryDelaySeconds)
  RSMS_RIVERBASIN_BLOB_CONTAINER: basinContainer
  RSMS_RUNS_TABLE: runsTable
  RSMS_SCENARIOS_TABLE: scenariosTable
  RSMS_STORAGE_ENDPOINT_SUFFIX: environment().suffixes.storage
  RSMS_WORKER_MAX_DEQUEUE_COUNT: string(maxDequeueCount)
  RSMS_WORKER_POISON_QUEUE_NAME: poisonQueueName
  RSMS_WORKER_QUEUE_NAME: queueName
  RSMS_WORKER_VISIBILITY_TIMEOUT_SEC: string(visibilityTimeoutSeconds)
}

var launchSettings = withWindows
  ? {
      RSMS_ACI_CPU: string(windowsCpu)
      RSMS_ACI_IDENTITY_CLIENT_ID: groupIdentity!.outputs.clientId
      RSMS_ACI_IDENTITY_ID: groupIdentity!.outputs.id
      RSMS_ACI_IDENTITY_PRINCIPAL_ID: groupIdentity!.outputs.principalId
      RSMS_ACI_IMAGE: windowsImage
      RSMS_ACI_LOCATION: location
      RSMS_ACI_MEMORY_GB: string(windowsMemoryGb)
      RSMS_ACI_RESOURCE_GROUP: groupsGroup
      RSMS_ACI_SUBSCRIPTION_ID: subscription().subscriptionId
      RSMS_ARM_ENDPOINT: environment().resourceManager
    }
  : {}

// Roles come first: a pull or a look at the queue that is refused once is not
// tried again for a long time (C06, C41).
module jobs 'modules/jobs.bicep' = if (withJobs) {
  name: 'rsms-jobs'
  dependsOn: [
    queueRoles
    storeRoles
    groupStoreRoles
    groupRoles
  ]
  params: {
    jobName: jobName
    manualJobName: manualJobName
    manualJob: manualJob
    location: location
    tags: empty(commit) ? tags : union(tags, { commit: commit })
    environmentId: managed.outputs.id
    image: image
    arguments: withWindows ? ['launch'] : []
    registryLoginServer: pull.outputs.loginServer
    settings: union(settings, launchSettings, extraSettings)
    cpu: cpu
    memory: memories[cpu]
    maxExecutions: maxExecutions
    pollingInterval: pollingInterval
    replicaTimeoutSeconds: replicaTimeoutSeconds
    storageAccountName: storageName
    queueName: queueName
    runIdentityId: runIdentity.id
    scaleIdentityId: scaleIdentity.id
    pullIdentityId: pullIdentity.id
  }
}

module alerts 'modules/alerts.bicep' = {
  name: 'rsms-alerts'
  params: {
    namePrefix: namePrefix
    location: location
    tags: tags
    workspaceId: workspaceId
    environmentId: managed.outputs.id
    jobNames: [
      jobName
      manualJobName
    ]
    storageAccountName: storageName
    queueName: queueName
    poisonQueueName: poisonQueueName
    // The settings of an account that is there are its owner's.
    queueLog: newStorage
    alertEmails: alertEmails
    maxMessageAgeMinutes: maxMessageAgeMinutes
  }
}

@description('Job that the queue starts.')
output jobName string = jobName

@description('Job that people start; empty = there is none.')
output manualJobName string = manualJob ? manualJobName : ''

@description('Environment of the jobs.')
output environmentName string = managed.outputs.name

@description('Registry of the image.')
output registryName string = pullRegistry

@description('Host name of the registry.')
output registryLoginServer string = pull.outputs.loginServer

@description('Storage account of queue, tables and containers.')
output storageAccountName string = storageName

@description('Queue of the messages.')
output queueName string = queueName

@description('Queue of the messages that were put aside.')
output poisonQueueName string = poisonQueueName

@description('Table of the run records.')
output runsTable string = runsTable

@description('Table of the scenarios.')
output scenariosTable string = scenariosTable

@description('Id by which the workspace of the logs is queried.')
output workspaceCustomerId string = managed.outputs.workspaceCustomerId

@description('Client id of the identity that the worker runs as.')
output runIdentityClientId string = runIdentity.properties.clientId
