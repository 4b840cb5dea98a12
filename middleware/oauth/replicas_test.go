package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"rlmproxy/fleet/fleettest"
	"rlmproxy/keyring"
	"rlmproxy/middleware/upstream/transport"
)

func replicasOf(t *testing.T) *world {
	w := newWorld(t)
	w.store = fleettest.Start(t)
	return w
}

func (w *world) known() Server {
	return Server{Name: "x", URL: w.server.URL + "/mcp", Login: "rlmproxy auth login x"}
}

// TestOnce: whoever signs in on one machine has all replicas signed in, and whoever signs out
// all of them signed out, also those that have a token.
func TestOnce(t *testing.T) {
	w := replicasOf(t)
	a, b := w.account(), w.account()
	if _, err := w.call(a); !errors.As(err, new(*transport.SignInError)) {
		t.Fatal(err)
	}
	at := w.signedIn()
	fleettest.Until(t, "a is signed in", func() bool { got, err := w.call(a); return got == "200 hello world" && err == nil })
	if got, err := w.call(b); got != "200 hello world" {
		t.Errorf("b: %q %v", got, err)
	}
	if s, err := b.Status(t.Context()); err != nil || !s.SignedIn {
		t.Errorf("status %+v %v", s, err)
	}
	w.pages["/revoke"] = http.NotFound // so that only what they are told ends their tokens
	if had, revoked, err := at.Logout(t.Context()); !had || revoked == nil || err != nil {
		t.Errorf("logout: %v %v %v", had, revoked, err)
	}
	for _, r := range []*Account{a, b} {
		fleettest.Until(t, "they are signed out", func() bool { _, err := w.call(r); return errors.As(err, new(*transport.SignInError)) })
	}
}

// TestSealed: no token, secret or name is in the store as it is, and nothing of it serves for another
// server, or whoever has another key.
func TestSealed(t *testing.T) {
	w := replicasOf(t)
	a := w.signedIn()
	v := a.vault.(*sharedVault)
	g, err := a.load()
	if err != nil || g.Access == "" || g.Refresh == "" {
		t.Fatal(g, err)
	}
	for _, key := range w.store.Client.Keys(t.Context(), "*").Val() {
		if !strings.Contains(key, "sign-in") {
			continue
		}
		all := w.store.Client.HGetAll(t.Context(), key).Val()
		for field, value := range all {
			for _, secret := range []string{g.Access, g.Refresh, g.TokenURL, g.Client.ID} {
				if strings.Contains(field+value+key, secret) {
					t.Errorf("%s of %s has %s", field, key, secret)
				}
			}
		}
	}
	other := w.account(func(s *Server) { s.URL += "/" })
	stolen := other.vault.(*sharedVault)
	w.store.Client.HSet(t.Context(), stolen.key(), w.store.Client.HGetAll(t.Context(), v.key()).Val())
	if _, err := other.load(); !errors.Is(err, errSealed) {
		t.Errorf("the sign-in of another server: %v", err)
	}
	w.store.Client.HSet(t.Context(), stolen.key(), "grant", "x")
	if _, err := other.load(); !errors.Is(err, errSealed) {
		t.Errorf("nonsense: %v", err)
	}
	apart, _ := w.replica(t.TempDir(), "another secret, of 32 letters or more", w.known())
	if _, err := w.call(apart); err == nil || !strings.Contains(err.Error(), "another fleetKey") {
		t.Errorf("another key: %v", err)
	}
	if _, err := apart.Login(t.Context(), Login{Show: browser, Wait: 5 * time.Second}); err == nil || !strings.Contains(err.Error(), "another fleetKey") {
		t.Errorf("another key signs in: %v", err)
	}
	if got, err := w.call(w.account()); got != "200 hello world" {
		t.Errorf("call: %q %v", got, err)
	}
	if had, revoked, err := apart.Logout(t.Context()); !had || revoked == nil || err != nil {
		t.Errorf("logout: %v %v %v", had, revoked, err)
	}
}

// TestKeyringMoves: what the keyring of a replica has is the store's from then on, of one
// replica, and never again after somebody has signed out.
func TestKeyringMoves(t *testing.T) {
	w := newWorld(t)
	w.signedIn()
	w.store = fleettest.Start(t)
	a, _ := w.replica(w.dir, "", w.known())
	if got, err := w.call(a); got != "200 hello world" {
		t.Fatalf("call: %q %v", got, err)
	}
	l := a.vault.(*sharedVault).local
	if _, err := l.get(); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("the keyring still has it: %v", err)
	}
	b := w.account()
	if got, err := w.call(b); got != "200 hello world" {
		t.Errorf("another replica: %q %v", got, err)
	}
	g, err := a.load()
	text, _ := json.Marshal(g)
	if err != nil || l.set(string(text)) != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, _ := w.replica(w.dir, "", w.known())
	if g, err := again.load(); g != nil || err != nil {
		t.Errorf("after logout the keyring counts: %v %v", g, err)
	}
}

// TestStoreAway: while the store is away the token at hand is used until it ends, and none is
// renewed; a server that wants no sign-in is asked. When the store is back, with its data
// lost, the sign-in is there.
func TestStoreAway(t *testing.T) {
	w := replicasOf(t)
	a := w.signedIn()
	w.store.Kill()

	hold := func(d time.Duration) {
		g := *a.grant
		g.Since, g.Expires = g.Since.Add(-d), g.Expires.Add(-d)
		a.hold(&g)
	}
	hold(56 * time.Minute)
	for range 3 {
		if got, err := w.call(a); got != "200 hello world" {
			t.Errorf("call: %q %v", got, err)
		}
	}
	hold(time.Hour)
	a.failedAt = time.Time{}
	_, err := w.call(a)
	var needs *transport.SignInError
	if !errors.As(err, &needs) || !needs.Call || !strings.Contains(err.Error(), "the shared store is away: try again in") {
		t.Errorf("error %v", err)
	}
	if n := w.times("refresh_token"); n != 0 {
		t.Errorf("%d renewals without the lock", n)
	}
	if _, err := a.Login(t.Context(), Login{Show: func(string) { t.Error("a browser was opened") }}); err == nil || !strings.Contains(err.Error(), "away") {
		t.Errorf("login: %v", err)
	}
	if _, _, err := a.Logout(t.Context()); err == nil || !strings.Contains(err.Error(), "away") {
		t.Errorf("logout: %v", err)
	}
	w.mu.Lock()
	w.tokens[""] = true
	w.mu.Unlock()
	if got, err := w.call(w.account()); got != "200 hello world" {
		t.Errorf("without a sign-in: %q %v", got, err)
	}
	w.mu.Lock()
	delete(w.tokens, "")
	w.mu.Unlock()
	w.store.Restart()
	fleettest.Until(t, "the token is renewed", func() bool {
		a.mu.Lock()
		a.failedAt = time.Time{}
		a.mu.Unlock()
		got, err := w.call(a)
		return got == "200 hello world" && err == nil && w.times("refresh_token") == 1
	})
	if got, err := w.call(w.account()); got != "200 hello world" {
		t.Errorf("another replica: %q %v", got, err)
	}
}

// TestLostBetween: a replica that has renewed a token, and cannot write it down, lets nobody
// use the old refresh token again, and writes it down as soon as it can.
func TestLostBetween(t *testing.T) {
	w := newWorld(t)
	w.store = fleettest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	a := w.signedIn()
	b := w.account()
	older(t, 2*time.Hour, a, b)
	w.end(false)
	w.token = func(map[string]any) { w.store.Kill() } // after it has been renewed
	if got, err := w.call(a); got != "200 hello world" {
		t.Fatalf("call: %q %v", got, err)
	}
	w.token = nil
	w.store.Restart()
	fleettest.Until(t, "the other has it", func() bool {
		b.mu.Lock()
		b.failedAt = time.Time{}
		b.mu.Unlock()
		got, err := w.call(b)
		return got == "200 hello world" && err == nil
	})
	if n := w.times("refresh_token"); n != 1 {
		t.Errorf("%d renewals", n)
	}
}

// TestLease: the lock of a replica that was lost is free in time, others wait for it only if
// they must, and whoever is late gives back nobody else's.
func TestLease(t *testing.T) {
	w := replicasOf(t)
	a := w.signedIn()
	v := w.account().vault.(*sharedVault)
	unlock, ends, err := v.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	key := v.lockKey()
	if left := w.store.Client.PTTL(t.Context(), key).Val(); left <= 0 || left > leaseTime || time.Until(ends) > left {
		t.Errorf("the lock ends in %v, its use in %v", left, time.Until(ends))
	}
	older(t, 56*time.Minute, a) // it can be used still
	begun := time.Now()
	if got, err := w.call(a); got != "200 hello world" || time.Since(begun) > 2*aheadTime {
		t.Errorf("call: %q %v, after %v", got, err, time.Since(begun))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*turnPause)
	defer cancel()
	if _, _, err := v.lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it was locked twice: %v", err)
	}
	w.store.Client.Del(t.Context(), key) // it ends
	if _, _, err := v.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	unlock()
	if w.store.Client.Exists(t.Context(), key).Val() != 1 {
		t.Error("the lock of another was given back")
	}
}

// TestManyReplicas: of many replicas that need another token at once, one asks for it.
func TestManyReplicas(t *testing.T) {
	w := replicasOf(t)
	all := []*Account{w.signedIn()}
	for range 5 {
		all = append(all, w.account())
	}
	for round := range 3 {
		older(t, 2*time.Hour, all...)
		w.end(false)
		var wg sync.WaitGroup
		for _, a := range all {
			wg.Go(func() {
				if got, err := w.call(a); got != "200 hello world" {
					t.Errorf("call: %q %v", got, err)
				}
			})
		}
		wg.Wait()
		if n := w.times("refresh_token"); n != round+1 {
			t.Fatalf("%d renewals in round %d", n, round)
		}
	}
}
