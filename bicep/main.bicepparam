using 'main.bicep'

// What an installation usually sets. All else has defaults; main.bicep tells of
// each. image and commit are set by scripts/deploy.sh.
param namePrefix = 'rsms'
param maxExecutions = 10
param cpu = '1'
param memory = '2Gi'
param jobTimeoutSeconds = 7200
param alertEmails = []
