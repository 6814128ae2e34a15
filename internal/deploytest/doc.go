// Package deploytest tests the scripts that deploy, start, watch and delete the
// job in Azure, with stand-ins for az, docker, make and go on their PATH that
// record how they were called and answer from a table. Invariant: a test knows
// every call that a script makes; one that it does not know fails it.
package deploytest
