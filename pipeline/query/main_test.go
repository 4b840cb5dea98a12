package query

import (
	"os"
	"testing"
	"time"
)

// TestMain gives repairs the time that a machine may need which runs other tests too.
func TestMain(m *testing.M) {
	adviceTime, tryTime = time.Minute, 20*time.Second
	os.Exit(m.Run())
}
