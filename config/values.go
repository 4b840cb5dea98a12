package config

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"

	"rlmproxy/pipeline"
)

// The parsers below read the text of a value from the file, the environment
// or a flag. want is empty on success, else it says what was expected. They
// give int64, bool, string or time.Duration.
type parser = func(text string) (value any, want string)

// whole reads a whole number from least to most. 8000.0 and 8e3 are whole:
// generated files hold them.
func whole(least, most int64) parser {
	return func(text string) (any, string) {
		n, ok := integer(text)
		switch {
		case ok && n > most:
			return nil, fmt.Sprintf("a whole number of at most %d", most)
		case !ok || n < least:
			return nil, fmt.Sprintf("a whole number of at least %d", least)
		}
		return n, ""
	}
}

func integer(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	// Beyond 2^53 a float no longer says which whole number was meant.
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// size reads bytes, as a number or with a unit.
func size(least, most int64) parser {
	return func(text string) (any, string) {
		n, ok := integer(text)
		if !ok {
			bytes, err := humanize.ParseBytes(strings.TrimSpace(text))
			n, ok = int64(min(bytes, math.MaxInt64)), err == nil
		}
		switch {
		case ok && n > most:
			return nil, "at most " + amount(most)
		case !ok || n < least:
			return nil, fmt.Sprintf(`bytes, at least %s, such as 104857600 or "100MiB"`, amount(least))
		}
		return n, ""
	}
}

// amount is how a bound is shown: 1 MiB.
func amount(bytes int64) string {
	return strings.Replace(humanize.IBytes(uint64(bytes)), ".0 ", " ", 1)
}

// maxDuration bounds every time limit: more is a mistaken unit.
const maxDuration = 365 * 24 * time.Hour

// duration reads seconds, as a number or with a unit, above zero.
func duration(text string) (any, string) {
	const want = `seconds above 0 and at most a year, such as 90 or "1m30s"`
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil {
		seconds, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(seconds > 0 && seconds <= maxDuration.Seconds()) {
			return nil, want
		}
		d = time.Duration(seconds * float64(time.Second))
	}
	if d <= 0 || d > maxDuration {
		return nil, want
	}
	return d, ""
}

// durationIn is duration from least to most.
func durationIn(least, most time.Duration) parser {
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
	want := fmt.Sprintf(`seconds from %s to %s, such as 90 or "1m30s"`, seconds(least), seconds(most))
	return func(text string) (any, string) {
		d, wrong := duration(text)
		if wrong != "" || d.(time.Duration) < least || d.(time.Duration) > most {
			return nil, want
		}
		return d, ""
	}
}

// zeroOr is parse, which reads a number, where 0 means not set.
func zeroOr(parse parser) parser {
	return func(text string) (any, string) {
		if text == "0" {
			return int64(0), ""
		}
		value, want := parse(text)
		if want != "" {
			want = "0, or " + want
		}
		return value, want
	}
}

func truth(text string) (any, string) {
	switch strings.ToLower(text) {
	case "true", "1", "yes", "on":
		return true, ""
	case "false", "0", "no", "off":
		return false, ""
	}
	return nil, "true or false"
}

func oneOf(words ...string) parser {
	return func(text string) (any, string) {
		for _, w := range words {
			if strings.EqualFold(text, w) {
				return w, ""
			}
		}
		return nil, "one of " + strings.Join(words, ", ")
	}
}

// fileMode reads permissions, in octal. Whose socket it is has to be let in.
func fileMode(text string) (any, string) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 8, 16)
	if err != nil || n > 0o777 || n&0o600 != 0o600 {
		return nil, `permissions in octal from 0600 to 0777, such as "0660"`
	}
	return int64(n), ""
}

// word reads text that is not empty.
func word(text string) (any, string) {
	if text = strings.TrimSpace(text); text == "" || strings.ContainsRune(text, 0) {
		return nil, "text"
	}
	return text, ""
}

// address reads a URL. Where it must be https is for its user to say.
func address(text string) (any, string) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || !IsPort(u.Port()) || u.User != nil || strings.ContainsFunc(text, unicode.IsControl) {
		return nil, "a URL such as https://example.com"
	}
	return text, ""
}

// storeURL reads where a Redis or Valkey is. Its parameters are for who connects to it.
func storeURL(text string) (any, string) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix" || u.Scheme != "unix" && u.Hostname() == "" || strings.ContainsFunc(text, unicode.IsControl) {
		return nil, "a URL such as redis://host:6379, rediss://user:password@host:6379/0 or unix:///run/redis.sock"
	}
	return text, ""
}

// fleetName reads what keys of a store begin with.
func fleetName(text string) (any, string) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 64 || strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
		return nil, "up to 64 letters, digits and -_."
	}
	return text, ""
}

// longSecret reads a secret that nobody guesses.
func longSecret(text string) (any, string) {
	if text = strings.TrimSpace(text); len(text) < 32 {
		return nil, "at least 32 characters, as openssl rand -base64 32 gives them"
	}
	return text, ""
}

// listenAddress reads where to listen: a host and a port, or a port alone, which is of
// 127.0.0.1.
func listenAddress(text string) (any, string) {
	const want = "a port, or an address such as 127.0.0.1:9464"
	text = strings.TrimSpace(text)
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = "", text
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 && port != "0" || strings.ContainsAny(host, "/*@ \x00") {
		return nil, want
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), ""
}

// list reads texts with commas between them.
func list(valid func(string) bool, each string) parser {
	return func(text string) (any, string) {
		var all []string
		for entry := range strings.SplitSeq(text, ",") {
			entry = strings.TrimSpace(entry)
			if !valid(entry) {
				return nil, each
			}
			all = append(all, entry)
		}
		return all, ""
	}
}

// kinds reads tokens by kind of text, 0 for the limit of other kinds.
func kinds(text string) (any, string) {
	tokens := map[string]any{}
	for entry := range strings.SplitSeq(text, ",") {
		kind, n, _ := strings.Cut(entry, "=")
		kind = strings.TrimSpace(kind)
		value, want := zeroOr(whole(leastTokens, mostTokens))(strings.TrimSpace(n))
		if want != "" || !slices.Contains(pipeline.Classes, kind) {
			return nil, fmt.Sprintf("KIND=TOKENS, such as source=6000, with 0 or at least %d tokens and a kind of %s", leastTokens, strings.Join(pipeline.Classes, ", "))
		}
		tokens[kind] = value
	}
	return tokens, ""
}

// isHost and isOrigin catch the slips; middleware/auth checks the rest.
func isHost(s string) bool {
	_, port, hasPort := strings.Cut(s[strings.LastIndexByte(s, ']')+1:], ":")
	return s != "" && !strings.ContainsAny(s, "/*@ \x00") && (!hasPort || port != "" && IsPort(port))
}

func isOrigin(s string) bool {
	scheme, rest, ok := strings.Cut(s, "://")
	return ok && scheme != "" && isHost(strings.TrimSuffix(rest, "/"))
}

// IsPort reports whether a URL or an address may have s as its port, or as none.
func IsPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return s == "" || err == nil && n > 0
}

// registryURL catches the slips; package registry checks the rest.
func registryURL(text string) (any, string) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" {
		return nil, `a URL such as "postgres://user:password@host:5432/database"`
	}
	return text, ""
}
