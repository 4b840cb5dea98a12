package judge

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// What a question may have, in characters but for the labels, which are counted: a question stands
// in every prompt.
const (
	maxText   = 4000
	maxGuide  = 4000
	maxLabels = 100
	maxLabel  = 200
	// maxAnswer bounds a short text; what is longer is cut.
	maxAnswer = 300
	// maxItems bounds the items of one question, some 30 MB of what is known of them.
	maxItems = 100_000
)

// A QuestionError says what is wrong with a question.
type QuestionError struct{ Text string }

func (e *QuestionError) Error() string { return e.Text }

func wrong(format string, args ...any) error {
	return &QuestionError{fmt.Sprintf(format, args...)}
}

// Check returns what is wrong with a question, a [*QuestionError], or nil.
func (q Question) Check() error {
	switch {
	case strings.TrimSpace(q.Text) == "":
		return wrong("the question is empty")
	case utf8.RuneCountInString(q.Text) > maxText:
		return wrong("the question has more than %d characters", maxText)
	case utf8.RuneCountInString(q.Guide) > maxGuide:
		return wrong("the guide has more than %d characters", maxGuide)
	case len(q.Labels) == 1:
		return wrong("there is one label: name at least two, or none for an answer by type")
	case len(q.Labels) > maxLabels:
		return wrong("there are %d labels, the most are %d", len(q.Labels), maxLabels)
	case len(q.Labels) > 0 && q.Type != "" && q.Type != "text":
		return wrong("labels are texts: leave type out, or the labels")
	}
	switch q.Type {
	case "", "text", "number", "boolean":
	default:
		return wrong("type is %.20q: it is text, number or boolean", q.Type)
	}
	seen := map[string]bool{}
	for i, label := range q.Labels {
		folded := fold(label)
		switch {
		case folded == "":
			return wrong("label %d is empty", i+1)
		case utf8.RuneCountInString(label) > maxLabel:
			return wrong("label %d has more than %d characters", i+1, maxLabel)
		case seen[folded]:
			return wrong("label %.50q is there twice", label)
		}
		seen[folded] = true
	}
	return nil
}

// fold is the same for labels that differ in case and white space around them.
func fold(label string) string { return strings.ToLower(strings.TrimSpace(label)) }
