package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// GroupName is the name of the group for a job: the same parts, such as account,
// queue, basin, scenario and job id, give the same name, and others another. It
// is 41 lowercase letters, digits and hyphens.
func GroupName(parts ...string) string {
	hash := sha256.New()
	for _, p := range parts {
		hash.Write([]byte(strconv.Itoa(len(p)) + ":" + p)) // "ab","c" is not "a","bc"
	}
	return "rsms-job-" + hex.EncodeToString(hash.Sum(nil)[:16])
}
