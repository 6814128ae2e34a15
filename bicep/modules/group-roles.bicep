metadata description = 'Lets launch make, read, stop and delete container groups in this resource group.'

@description('Principal id of the identity that launch runs as.')
param runPrincipalId string

var containerInstancesContributor = '5d977122-f97e-4b4d-a52f-6b43003ddb4d'

// A group that does not exist yet can be no scope, so it is the resource group.
// The role knows container groups only.
resource runOnGroups 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(resourceGroup().id, runPrincipalId, containerInstancesContributor)
  properties: {
    principalId: runPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', containerInstancesContributor)
  }
}
