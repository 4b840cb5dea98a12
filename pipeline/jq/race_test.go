//go:build race

package jq

const raceDetector = true
