// Package imagetest tests the container images as a host uses them: started by
// docker run, against a storage emulator, stopped by docker stop. Its tests need
// a Docker daemon on Linux and have the build tag image; scripts/image_test.sh
// gives them both images and runs them. Invariant: an image needs nothing from
// its host but the settings of the contract: no root, no writable root file
// system, no network of its own.
package imagetest
