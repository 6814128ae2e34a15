/*
 * Runs whole.exe, which stands beside it, and gives BLTM.FLW a name in small
 * letters, as a program does that opens its output so.
 */
#include <windows.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	char path[MAX_PATH], line[MAX_PATH + 32];
	STARTUPINFOA start = {sizeof start};
	PROCESS_INFORMATION child;
	DWORD code;

	GetModuleFileNameA(NULL, path, sizeof path);
	*strrchr(path, '\\') = 0;
	snprintf(line, sizeof line, "\"%s\\whole.exe\" engine daflow", path);
	if (!CreateProcessA(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &start, &child))
		return 90;
	WaitForSingleObject(child.hProcess, INFINITE);
	GetExitCodeProcess(child.hProcess, &code);
	if (code)
		return code;
	if (!MoveFileA("BLTM.FLW", "flow.tmp") || !MoveFileA("flow.tmp", "bltm.flw"))
		return 91;
	return 0;
}
