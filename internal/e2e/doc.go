// Package e2e tests the program as a whole: the built binary against a storage
// emulator, killed, stopped and disturbed at every point of a run. Invariant:
// whatever happens to its workers, a message ends as exactly one complete
// result, or in the poison queue with a reason, and nobody is left untold.
package e2e
