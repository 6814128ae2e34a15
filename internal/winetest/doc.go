// Package winetest tests the program for Windows, and engines that are Windows
// programs, under Wine. Its tests have the build tag wine and need Wine and
// mingw, but no display. Invariant: what a run leaves in its store is the same
// on both systems, and no process of a run is left when the run is over.
package winetest
