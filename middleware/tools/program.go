package tools

import (
	"context"

	"rlmproxy/middleware/guard"
	"rlmproxy/pipeline/script"
)

// program runs a program for the agent: what it asks for outside itself is done as the agent,
// under the trust rules of fresh calls. Agent is set here. A runner other than that of
// [Options.Programs] is given, or nil.
func (c *call) program(ctx context.Context, p script.Program, other script.Runner) (script.Outcome, error) {
	runner := c.opts.Programs
	if other != nil {
		runner = other
	}
	if runner == nil {
		return script.Outcome{}, off(c.tool, "code")
	}
	p.Agent = c.agent
	guard.HoldOf(ctx).Pause() // others have their turns while it runs
	return runner.Run(inProgram(ctx), p, &host{call: c})
}
