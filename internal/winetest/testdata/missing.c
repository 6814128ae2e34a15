/* A library that is there when an engine is built, and not when it is started. */
__declspec(dllexport) int missing(void) { return 0; }
