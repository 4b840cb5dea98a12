package config

import (
	"fmt"

	"github.com/spf13/pflag"
)

// RegisterFlags adds a flag to fs for every setting but those of [Setting.EnvOnly].
// A value is checked as it is set.
func RegisterFlags(fs *pflag.FlagSet) {
	for _, s := range Settings() {
		if s.EnvOnly() {
			continue
		}
		f := fs.VarPF(&flagValue{setting: s, text: s.Default}, s.Flag(), "", s.Usage)
		if s.Unit == "true|false" {
			f.NoOptDefVal = "true"
		}
	}
}

var _ pflag.Value = (*flagValue)(nil)

// A flagValue is the text of a flag.
type flagValue struct {
	setting Setting
	text    string
}

func (v *flagValue) String() string { return v.text }

// Type is what help shows for the value.
func (v *flagValue) Type() string { return v.setting.Unit }

func (v *flagValue) Set(text string) error {
	if _, want := v.setting.parse(text); want != "" {
		return fmt.Errorf("expected %s", want)
	}
	v.text = text
	return nil
}
