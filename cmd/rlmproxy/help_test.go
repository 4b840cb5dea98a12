package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"rlmproxy/config"
)

// TestHelpSettings: help settings has each setting, under a title, and help of commands shows
// settings that there are.
func TestHelpSettings(t *testing.T) {
	text := settingsTopic().Long
	var names []string
	for _, s := range config.Settings() {
		names = append(names, s.Name)
		if !strings.Contains(text, "\n  "+s.Name+", ") || s.Group() == "" {
			t.Errorf("%s has no place in help", s.Name)
		}
	}
	for _, name := range slices.Concat(listShows, callShows, serveShows) {
		if !slices.Contains(names, name) {
			t.Errorf("help shows %s, which is no setting", name)
		}
	}
}

// TestHelpWidth: help of a command fits a terminal, but for examples.
func TestHelpWidth(t *testing.T) {
	c := &cli{stdout: io.Discard, stderr: io.Discard}
	for _, cmd := range c.root().Commands() {
		for line := range strings.SplitSeq(flagGroups(cmd), "\n") {
			if len(line) > helpWidth {
				t.Errorf("%s: %s", cmd.Name(), line)
			}
		}
	}
}
