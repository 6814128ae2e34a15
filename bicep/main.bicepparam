using 'main.bicep'

// What differs from the defaults stands here, a line each, such as
//   param alertEmails = ['ann@example.org']
// main.bicep tells of every parameter. What stands here goes before what the last
// deployment had, and --set of scripts/deploy.sh before both. The script itself
// sets stage, image, commit, namePrefix and, unless told, the operator.
