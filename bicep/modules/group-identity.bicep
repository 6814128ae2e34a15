metadata description = 'The identity of the Windows container groups, and the right of the worker to give it to them.'

@description('Name of the identity.')
param name string

@description('Region of the identity.')
param location string

@description('Tags of the identity.')
param tags object

@description('Principal id of the identity that launch runs as.')
param runPrincipalId string

var managedIdentityOperator = 'f1a07417-d97a-45cb-824c-7a7467783830'

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: name
  location: location
  tags: tags
}

resource runOnIdentity 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(identity.id, runPrincipalId, managedIdentityOperator)
  scope: identity
  properties: {
    principalId: runPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', managedIdentityOperator)
  }
}

@description('Resource id of the identity.')
output id string = identity.id

@description('Client id of the identity.')
output clientId string = identity.properties.clientId

@description('Principal id of the identity.')
output principalId string = identity.properties.principalId
