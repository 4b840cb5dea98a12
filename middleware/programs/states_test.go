package programs

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"rlmproxy/fleet"
	"rlmproxy/fleet/fleettest"
)

// check holds States to what they promise; others are those of another replica, or the same.
func check(t *testing.T, s, others *States) {
	t.Helper()
	if state, was, err := s.Get(t.Context(), "a"); state.Value != nil || state.NoModel || was != "" || err != nil {
		t.Fatalf("%+v, %q, %v", state, was, err)
	}
	if ok, err := s.Put(t.Context(), "a", "", State{Value: []byte(`{"n":1}`), NoModel: true}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	state, was, err := others.Get(t.Context(), "a")
	if string(state.Value) != `{"n":1}` || !state.NoModel || err != nil {
		t.Errorf("%+v, %v", state, err)
	}
	if ok, err := s.Put(t.Context(), "a", "", State{Value: []byte(`{"n":2}`)}); ok || err != nil {
		t.Error("a state was replaced that had changed", err)
	}
	if ok, err := others.Put(t.Context(), "a", was, State{Value: []byte(`{"n":3}`)}); !ok || err != nil {
		t.Error(ok, err)
	}
	if state, _, _ := s.Get(t.Context(), "a"); string(state.Value) != `{"n":3}` || state.NoModel {
		t.Errorf("%+v", state)
	}
	if state, _, _ := s.Get(t.Context(), "b"); state.Value != nil {
		t.Errorf("another agent has %s", state.Value)
	}
}

func TestStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(nil)
		check(t, s, s)
		s.Forget("a")
		if state, _, _ := s.Get(t.Context(), "a"); state.Value != nil {
			t.Errorf("%s after Forget", state.Value)
		}
		for i := range 2 * maxStates {
			if ok, err := s.Put(t.Context(), fmt.Sprint(i), "", State{Value: []byte("{}")}); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		if len(s.kept) > maxStates {
			t.Errorf("%d states", len(s.kept))
		}
	})
}

func TestSharedStates(t *testing.T) {
	server := fleettest.Start(t)
	var states []*States
	for range 2 {
		store, err := fleet.Open(fleet.Options{URL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(store.Close)
		states = append(states, New(store))
	}
	check(t, states[0], states[1])
	keys, err := server.Client.Keys(t.Context(), "*program*").Result()
	if err != nil || len(keys) != 1 || strings.HasSuffix(keys[0], ":a") {
		t.Error(keys, err)
	}
	if kept, _ := server.Client.Get(t.Context(), keys[0]).Result(); strings.Contains(kept, `"n"`) {
		t.Error("the store reads the state")
	}
}
