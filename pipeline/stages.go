package pipeline

import (
	"rlmproxy/pipeline/doc"
	"rlmproxy/pipeline/find"
	"rlmproxy/pipeline/hide"
	"rlmproxy/pipeline/page"
	"rlmproxy/pipeline/preview"
	"rlmproxy/pipeline/project"
	"rlmproxy/pipeline/query"
	"rlmproxy/pipeline/render"
)

// What travels between stages, and what goes wrong in them.
type (
	Value = doc.Value
	Kind  = doc.Kind
	Memo  = doc.Memo
	Path  = doc.Path
	Error = doc.Error
)

const (
	Text      = doc.Text
	JSON      = doc.JSON
	JSONLines = doc.JSONLines

	BadArguments = doc.BadArguments
	BadJQ        = doc.BadJQ
	BadPattern   = doc.BadPattern
	LimitTime    = doc.LimitTime
	LimitMemory  = doc.LimitMemory
)

// Recognise and ParsePath are those of package doc.
var (
	Recognise = doc.Recognise
	ParsePath = doc.ParsePath
)

// The stages.
type (
	Project = project.Project
	JQ      = query.JQ
	Slice   = page.Slice
	Search  = find.Search
	Outline = preview.Outline
	Format  = render.Format
	Wrapped = page.Wrapped
)

var _ = []Stage{(*Project)(nil), (*JQ)(nil), (*Slice)(nil), (*Search)(nil), (*Outline)(nil), (*Format)(nil)}

// What stands before the stages and behind them.
type (
	Hide = hide.Hide
	Part = preview.Part
)

var (
	NewHide  = hide.NewHide
	Lossless = render.Lossless
	MayFit   = render.MayFit
	Preview  = preview.Preview
	NextCall = preview.NextCall
	Join     = query.Join
	Class    = preview.Class
	Classes  = preview.Classes
	InOrder  = preview.InOrder
	Rest     = preview.Rest
	Below    = page.Below
	IsItself = render.IsItself
)
