/* ProcessPrng of Windows 10, for Wine before 9, by what Wine has had for long. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size)
{
	while (size > 0) {
		ULONG part = size < 0x10000 ? (ULONG)size : 0x10000;
		if (!RtlGenRandom(data, part))
			return FALSE;
		data += part;
		size -= part;
	}
	return TRUE;
}
