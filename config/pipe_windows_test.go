package config

import "testing"

func makePipe(*testing.T, string) bool { return false }
