metadata description = 'The Container Apps environment of the jobs, on the Consumption profile (C20), and its logs.'

@description('Name of the environment.')
@minLength(2)
@maxLength(32)
param name string

@description('Region of the environment.')
param location string

@description('Tags of the environment.')
param tags object

@description('Name of the workspace that gets the logs.')
param workspaceName string

@description('Resource group of that workspace.')
param workspaceResourceGroup string

@description('Resource id of the subnet of the environment; empty = a network of the platform.')
param infrastructureSubnetId string

resource workspace 'Microsoft.OperationalInsights/workspaces@2023-09-01' existing = {
  name: workspaceName
  scope: resourceGroup(workspaceResourceGroup)
}

// The destination log-analytics would want the key of the workspace;
// azure-monitor, with the diagnostic setting below, wants none. The tables are
// then ContainerAppConsoleLogs and ContainerAppSystemLogs, without _CL behind
// them, and their columns are without _s.
resource managed 'Microsoft.App/managedEnvironments@2025-01-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    appLogsConfiguration: {
      destination: 'azure-monitor'
    }
    // Nothing listens in the jobs, so the environment needs no public address.
    vnetConfiguration: empty(infrastructureSubnetId)
      ? null
      : {
          infrastructureSubnetId: infrastructureSubnetId
          internal: true
        }
    workloadProfiles: [
      {
        name: 'Consumption'
        workloadProfileType: 'Consumption'
      }
    ]
  }
}

resource logs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'rsms-logs'
  scope: managed
  properties: {
    workspaceId: workspace.id
    logs: [
      {
        category: 'ContainerAppConsoleLogs'
        enabled: true
      }
      {
        category: 'ContainerAppSystemLogs'
        enabled: true
      }
    ]
  }
}

@description('Resource id of the environment.')
output id string = managed.id

@description('Name of the environment.')
output name string = managed.name

@description('Id by which the workspace is queried.')
output workspaceCustomerId string = workspace.properties.customerId
