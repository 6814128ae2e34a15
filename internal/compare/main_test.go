package compare

import (
	"os"
	"testing"

	"rsmsjob/internal/storage/azurite"
)

func TestMain(m *testing.M) { os.Exit(azurite.Main(m)) }
