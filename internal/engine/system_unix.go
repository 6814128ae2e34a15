//go:build unix

package engine

// systemFiles are patterns of files that are others after an update of the system,
// or in an image that was built on another one: lists of what is installed, and the
// library of C.
func systemFiles() []string {
	return []string{"/etc/os-release", "/var/lib/dpkg/status", "/lib/apk/db/installed", "/var/lib/rpm/rpmdb.sqlite", "/usr/lib/sysimage/rpm/rpmdb.sqlite",
		"/lib/*/libc.so.6", "/lib64/libc.so.6", "/lib/ld-musl-*"}
}
