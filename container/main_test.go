package container

import (
	"os"
	"testing"

	"rlmproxy/container/containertest"
)

func TestMain(m *testing.M) { os.Exit(containertest.Main(m)) }
