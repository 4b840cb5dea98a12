package transport

import (
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 500, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, " 12 ": 12 * time.Second, "-1": 0, "1.5": 0, "99999999": 0, "9999999999999999999999": 0,
		"Thu, 01 Jan 2026 00:00:10 GMT": 10 * time.Second, "Thu, 01 Jan 2025 00:00:10 GMT": 0, "Thu, 01 Jan 2099 00:00:10 GMT": 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}
