// Package openai has models behind APIs that are compatible with OpenAI's.
package openai

import _ "github.com/openai/openai-go/v3"
