metadata description = 'The Log Analytics workspace.'

@description('Name of the workspace.')
@minLength(4)
@maxLength(63)
param name string

@description('Region of the workspace.')
param location string

@description('Tags of the workspace.')
param tags object

@description('Days that logs are kept.')
@minValue(30)
@maxValue(730)
param retentionDays int

resource workspace 'Microsoft.OperationalInsights/workspaces@2023-09-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    retentionInDays: retentionDays
    sku: {
      name: 'PerGB2018'
    }
  }
}
