package catalogue

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"rlmproxy/bench/corpus"
)

// What of Stripe's description becomes tools: the resources that a shop works with,
// without the paths that an older form of the API has for the same things.
var (
	resources = []string{
		"balance", "charges", "checkout", "coupons", "customers", "disputes", "invoices", "payment_intents", "payment_links",
		"payouts", "prices", "products", "promotion_codes", "refunds", "subscriptions", "webhook_endpoints",
	}
	older = []string{"/v1/balance/history", "/v1/charges/{charge}/", "/v1/customers/{customer}/"}
)

type operation struct {
	OperationID string
	Summary     string
	Description string
	Parameters  []struct {
		Name        string
		Description string
		Required    bool
		Schema      json.RawMessage
	}
	RequestBody struct {
		Content map[string]struct{ Schema objectSchema }
	}
}

type objectSchema struct {
	Properties map[string]json.RawMessage
	Required   []string
}

// stripe makes a tool of each operation: the operation's id is the name; its
// summary, or else its description, is the description; its parameters and the
// members of its form are the properties. They come in the order of the paths.
func stripe() ([]json.RawMessage, error) {
	spec, err := corpus.Open("stripe.json")
	if err != nil {
		return nil, err
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(spec, &doc); err != nil {
		return nil, err
	}
	var tools []json.RawMessage
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		if !wanted(path) {
			continue
		}
		for _, method := range []string{"get", "post", "delete"} {
			raw, ok := doc.Paths[path][method]
			if !ok {
				continue
			}
			tool, err := fromOperation(raw, method)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			tools = append(tools, tool)
		}
	}
	return tools, nil
}

func wanted(path string) bool {
	segments := strings.Split(strings.TrimPrefix(path, "/v1/"), "/")
	return slices.Contains(resources, segments[0]) && len(segments) <= 3 &&
		!slices.ContainsFunc(older, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

func fromOperation(raw json.RawMessage, method string) (json.RawMessage, error) {
	var op operation
	if err := json.Unmarshal(raw, &op); err != nil {
		return nil, err
	}
	properties, required := map[string]json.RawMessage{}, []string{}
	for _, p := range op.Parameters {
		schema := map[string]json.RawMessage{}
		if err := json.Unmarshal(p.Schema, &schema); err != nil {
			return nil, fmt.Errorf("parameter %s: %w", p.Name, err)
		}
		if _, ok := schema["description"]; !ok && p.Description != "" {
			schema["description"] = encode(p.Description)
		}
		properties[p.Name] = encode(schema)
		if p.Required {
			required = append(required, p.Name)
		}
	}
	form := op.RequestBody.Content["application/x-www-form-urlencoded"].Schema
	maps.Copy(properties, form.Properties)
	required = append(required, form.Required...)
	return encode(struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Annotations json.RawMessage `json:"annotations"`
	}{
		op.OperationID,
		cmp.Or(op.Summary, op.Description),
		encode(struct {
			Type       string                     `json:"type"`
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required,omitempty"`
		}{"object", properties, required}),
		encode(map[string]bool{"readOnlyHint": method == "get", "destructiveHint": method == "delete"}),
	}), nil
}

// encode writes v without escapes for HTML. What it gets can be encoded.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}
