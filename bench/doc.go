// Package bench measures the whole proxy: how long a call takes, what a result
// costs an agent, how fast the engines are.
//
//	BenchmarkCall    client ─► proxy ─► upstream, three processes, against client ─► upstream
//	BenchmarkTokens  corpus file ─► cut, in one process; testdata/tokens.golden holds what agents read
//	BenchmarkSavings question ─► answer, all calls of a task; testdata/savings.golden holds what each costs
//	BenchmarkEngine  jq, project, search, outline, preview × kind of document × size, each beside a yardstick
//
// Whatever is compared is measured in turns within one run, so that a busy
// machine slows both sides. There is no code outside of tests. README.md has
// the commands and one measured table.
package bench
