package workdir

import "golang.org/x/sys/windows"

// Free is what this user may still write where dir is, bytes.
func Free(dir string) (uint64, error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	return free, err
}
