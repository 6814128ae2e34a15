/* An engine that needs the library. */
__declspec(dllimport) int missing(void);

int main(void) { return missing(); }
