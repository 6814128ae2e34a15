/*
 * An engine whose child stands in another folder than its run, and is started
 * with the creation flags of the first argument. The engine stays, or ends by
 * itself where there is a second argument. Where they would go on for ever they
 * go on for some minutes, so that one that is left behind shows and still ends.
 */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG_TIME (5 * 60 * 1000) /* ms */

int main(int argc, char **argv)
{
	char path[MAX_PATH], line[MAX_PATH + 16];
	STARTUPINFOA start = {sizeof start};
	PROCESS_INFORMATION child;

	if (argc > 1 && !strcmp(argv[1], "stay")) {
		Sleep(LONG_TIME);
		return 91;
	}
	GetModuleFileNameA(NULL, path, sizeof path);
	snprintf(line, sizeof line, "\"%s\" stay", path);
	if (!CreateProcessA(NULL, line, NULL, NULL, FALSE, strtoul(argv[1], NULL, 0), NULL, "C:\\", &start, &child)) {
		fprintf(stderr, "no child: error %lu\n", GetLastError());
		return 90;
	}
	printf("pid %lu\n", child.dwProcessId);
	fflush(stdout);
	if (argc > 2)
		return 5;
	Sleep(LONG_TIME);
	return 92;
}
