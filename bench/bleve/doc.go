// Package bleve holds the ranking of package search against that of bleve, a
// search library, on the judged questions of bench/quality: the same units, the
// same questions, its English analyser.
//
// It is a module of its own, so that bleve is no dependency of the proxy. There
// is no code outside of tests.
package bleve
