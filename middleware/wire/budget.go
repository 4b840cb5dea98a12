package wire

import (
	"context"

	"rlmproxy/middleware/guard"
)

// Aliases until this package goes: package upstream takes its turns in [guard].
type (
	Budget = guard.Budget
	Hold   = guard.Hold
)

// NewBudget is [guard.NewBudget].
func NewBudget(max int64, idle func()) *Budget { return guard.NewBudget(max, idle) }

// WithHold is [guard.WithHold].
func WithHold(ctx context.Context, h *Hold) context.Context { return guard.WithHold(ctx, h) }

// HoldOf is [guard.HoldOf].
func HoldOf(ctx context.Context) *Hold { return guard.HoldOf(ctx) }
