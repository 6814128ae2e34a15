/*
 * Runs the command line behind its own name, in a console, as the host of a
 * Windows container does. A line on standard input does something to it:
 * "terminate" ends its process and no other, "interrupt" is Ctrl-C. Its exit
 * code becomes ours.
 */
#include <windows.h>
#include <stdio.h>
#include <string.h>

static BOOL WINAPI deaf(DWORD event) { (void)event; return TRUE; }

static DWORD WINAPI await(void *process)
{
	DWORD code = 95;

	WaitForSingleObject(process, INFINITE);
	GetExitCodeProcess(process, &code);
	ExitProcess(code);
}

int main(void)
{
	STARTUPINFOW start = {sizeof start};
	PROCESS_INFORMATION child;
	WCHAR *line = GetCommandLineW();
	char word[64];

	start.dwFlags = STARTF_USESTDHANDLES;
	start.hStdInput = INVALID_HANDLE_VALUE;
	start.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
	start.hStdError = GetStdHandle(STD_ERROR_HANDLE);

	for (BOOL quoted = FALSE; *line && (quoted || *line != ' '); line++)
		if (*line == '"')
			quoted = !quoted;
	while (*line == ' ')
		line++;

	if (!GetConsoleCP()) {
		FreeConsole();
		if (!AllocConsole()) {
			fprintf(stderr, "no console: error %lu\n", GetLastError());
			return 96;
		}
	}
	SetConsoleCtrlHandler(deaf, TRUE);
	if (!CreateProcessW(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &start, &child)) {
		fprintf(stderr, "not started: error %lu\n", GetLastError());
		return 97;
	}
	CreateThread(NULL, 0, await, child.hProcess, 0, NULL);
	while (scanf("%63s", word) == 1) {
		if (!strcmp(word, "terminate"))
			TerminateProcess(child.hProcess, 98);
		else if (!strcmp(word, "interrupt"))
			GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0);
	}
	Sleep(INFINITE);
}
