/*
 * An engine that misbehaves in the way that its first argument says. Where it
 * would go on for ever it goes on for some minutes, so that one that is left
 * behind shows and still ends.
 */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG_TIME (5 * 60 * 1000) /* ms */

static BOOL WINAPI deaf(DWORD event) { (void)event; return TRUE; }

/* Another copy of the program, which has our streams and stays. */
static void start_child(DWORD flags)
{
	char path[MAX_PATH], line[MAX_PATH + 16];
	STARTUPINFOA start = {sizeof start};
	PROCESS_INFORMATION child;

	GetModuleFileNameA(NULL, path, sizeof path);
	snprintf(line, sizeof line, "\"%s\" stay", path);
	if (!CreateProcessA(NULL, line, NULL, NULL, TRUE, flags, NULL, NULL, &start, &child)) {
		fprintf(stderr, "no child: error %lu\n", GetLastError());
		exit(90);
	}
	printf("pid %lu\n", child.dwProcessId);
	fflush(stdout);
}

/* Where old programs keep what they need for a while, under a name of theirs. */
static void keep_in_temporary_folder(void)
{
	WCHAR path[MAX_PATH + 16];
	HANDLE file;

	GetTempPathW(MAX_PATH, path);
	wcscat(path, L"fort.10");
	file = CreateFileW(path, GENERIC_WRITE, 0, NULL, CREATE_NEW, 0, NULL);
	if (file == INVALID_HANDLE_VALUE)
		fprintf(stderr, "no file: error %lu\n", GetLastError());
}

static void stay(void)
{
	printf("pid %lu\n", GetCurrentProcessId());
	fflush(stdout);
	Sleep(LONG_TIME);
	exit(91);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "deaf")) {
		SetConsoleCtrlHandler(deaf, TRUE);
		stay();
	} else if (!strcmp(mode, "stay")) {
		stay();
	} else if (!strcmp(mode, "flood")) {
		static char block[1 << 16];

		memset(block, 'x', sizeof block);
		while (fwrite(block, sizeof block, 1, stdout) == 1)
			;
		return 92;
	} else if (!strcmp(mode, "leave-child")) {
		start_child(0);
		return 5;
	} else if (!strcmp(mode, "keep-child")) {
		start_child(argc > 2 ? strtoul(argv[2], NULL, 0) : 0);
		stay();
	} else if (!strcmp(mode, "crash")) {
		printf("about to crash\n");
		fflush(stdout);
		*(volatile int *)0 = 1;
	} else if (!strcmp(mode, "exception")) {
		RaiseException(strtoul(argv[2], NULL, 0), 0, 0, NULL);
	} else if (!strcmp(mode, "memory")) {
		/* What the system says when there is no more of it. */
		while (VirtualAlloc(NULL, (SIZE_T)1 << 44, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE))
			;
		RaiseException(0xC0000017, 0, 0, NULL);
	} else if (!strcmp(mode, "temporary")) {
		keep_in_temporary_folder();
		return 8;
	} else if (!strcmp(mode, "read")) {
		char word[64];

		printf(scanf("%63s", word) == 1 ? "read %s\n" : "nothing to read\n", word);
		return 6;
	}
	fprintf(stderr, "no such mode: %s\n", mode);
	return 93;
}
