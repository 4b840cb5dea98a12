package upstream

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"rlmproxy/jsonscan"
)

// Encode writes o as JSON, the definitions as the server sent them. [DecodeOffers] reads
// it.
func (o Offers) Encode() json.RawMessage {
	out := []byte{'{'}
	if o.Info != nil {
		// As the server may have written it in answer to initialize.
		info := jsonscan.AppendMember([]byte{'{'}, "protocolVersion", jsonscan.Quote(o.Info.ProtocolVersion))
		if who, err := json.Marshal(o.Info.ServerInfo); err == nil {
			info = jsonscan.AppendMember(info, "serverInfo", who)
		}
		info = jsonscan.AppendMember(info, "instructions", jsonscan.Quote(o.Info.Instructions))
		if o.Info.Declared != nil {
			info = jsonscan.AppendMember(info, "capabilities", o.Info.Declared)
		}
		out = jsonscan.AppendMember(out, "info", append(info, '}'))
	}
	for _, list := range []struct {
		what   string
		things []Tool
	}{{"tools", o.Tools}, {"prompts", o.Prompts}} {
		raw := []byte{'['}
		for _, t := range list.things {
			raw = jsonscan.AppendElement(raw, t.Raw)
		}
		out = jsonscan.AppendMember(out, list.what, append(raw, ']'))
	}
	left, _ := json.Marshal(o.LeftOut) // which always encodes
	return append(jsonscan.AppendMember(out, "leftOut", left), '}')
}

// DecodeOffers reads what Encode wrote. A server's bounds hold for it: somebody may have
// been at the file.
func DecodeOffers(raw json.RawMessage) (o Offers, err error) {
	list := func(what string, value json.RawMessage, check func(json.RawMessage) (string, error)) ([]Tool, error) {
		l := &listing{logger: slog.New(slog.DiscardHandler), what: what, check: check, names: map[string]bool{}}
		err := jsonscan.Elements(value, l.add)
		if err == nil && l.left.N > 0 {
			err = fmt.Errorf("%s: %s", what, l.left.Why)
		}
		return l.things, err
	}
	err = jsonscan.Members(raw, func(key string, value json.RawMessage) (err error) {
		switch key {
		case "info":
			o.Info, _, err = readInfo("info", value)
		case "tools":
			o.Tools, err = list(key, value, checkTool)
		case "prompts":
			o.Prompts, err = list(key, value, checkPrompt)
		case "leftOut":
			err = json.Unmarshal(value, &o.LeftOut)
		}
		return err
	})
	if err != nil {
		return Offers{}, err
	}
	return o, nil
}
