//go:build !race

package jq

const raceDetector = false
