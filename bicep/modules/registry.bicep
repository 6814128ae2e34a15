metadata description = 'A registry without an admin user: pulls and pushes are by identity.'

@description('Name of the registry.')
@minLength(5)
@maxLength(50)
param name string

@description('Region of the registry.')
param location string

@description('Tags of the registry.')
param tags object

@description('Size of the registry. A Windows image with its layers may fill a Basic one.')
@allowed([
  'Basic'
  'Standard'
  'Premium'
])
param sku string

resource registry 'Microsoft.ContainerRegistry/registries@2023-07-01' = {
  name: name
  location: location
  tags: tags
  sku: {
    name: sku
  }
  properties: {
    adminUserEnabled: false
  }
}
