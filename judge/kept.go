package judge

import (
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sync"
)

// A key stands for an item, a question and a model.
type key [sha256.Size]byte

func (k key) name() string { return hex.EncodeToString(k[:]) }

// keysOf returns a function that makes the key of an item.
func keysOf(model string, q Question) func(item string) key {
	about, _ := json.Marshal([]any{"judgement 1", model, q.Text, q.Labels, q.Type, q.Guide})
	of := sha256.Sum256(about)
	return func(item string) key {
		h := sha256.New()
		h.Write(of[:])
		h.Write([]byte(item))
		return key(h.Sum(nil))
	}
}

// kept are judgements in memory, by agent. Those that were not asked for longest go first.
type kept struct {
	most, mostOfAll int64 // bytes of one agent, of all

	mu     sync.Mutex // guards the fields below
	agents map[string]*ofAgent
	all    list.List // of *keptOne, the latest first
	size   int64
}

type ofAgent struct {
	byKey  map[key]*keptOne
	latest list.List // of *keptOne
	size   int64
}

type keptOne struct {
	agent          string
	key            key
	judgement      Judgement
	ofAgent, inAll *list.Element
}

// bytes is what one takes, with what maps and lists add.
func (o *keptOne) bytes() int64 { return int64(300 + len(o.judgement.Value)) }

func newKept(most int64) *kept {
	return &kept{most: most, mostOfAll: 8 * most, agents: map[string]*ofAgent{}}
}

func (k *kept) get(agent string, item key) (Judgement, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.agents[agent]
	if a == nil || a.byKey[item] == nil {
		return Judgement{}, false
	}
	one := a.byKey[item]
	a.latest.MoveToFront(one.ofAgent)
	k.all.MoveToFront(one.inAll)
	return one.judgement, true
}

func (k *kept) put(agent string, item key, j Judgement) {
	k.mu.Lock()
	defer k.mu.Unlock()
	a := k.agents[agent]
	if a == nil {
		a = &ofAgent{byKey: map[key]*keptOne{}}
		k.agents[agent] = a
	}
	if old := a.byKey[item]; old != nil {
		k.drop(old)
		k.agents[agent] = a
	}
	one := &keptOne{agent: agent, key: item, judgement: j}
	one.ofAgent, one.inAll = a.latest.PushFront(one), k.all.PushFront(one)
	a.byKey[item] = one
	a.size += one.bytes()
	k.size += one.bytes()
	for a.size > k.most {
		k.drop(a.latest.Back().Value.(*keptOne))
	}
	for k.size > k.mostOfAll {
		k.drop(k.all.Back().Value.(*keptOne))
	}
}

// drop forgets one, and its agent with the last of it. k.mu must be held.
func (k *kept) drop(one *keptOne) {
	a := k.agents[one.agent]
	a.latest.Remove(one.ofAgent)
	k.all.Remove(one.inAll)
	delete(a.byKey, one.key)
	a.size -= one.bytes()
	k.size -= one.bytes()
	if len(a.byKey) == 0 {
		delete(k.agents, one.agent)
	}
}

// A written judgement is one on a shelf.
type written struct {
	Value      json.RawMessage `json:"v"`
	Confidence float64         `json:"c"`
}

func write(j Judgement) []byte {
	text, _ := json.Marshal(written{j.Value, j.Confidence}) // the value was read as JSON
	return text
}

// readKept reads a judgement from a shelf, if it is one that answers this question.
func (f *form) readKept(text []byte) (Judgement, bool) {
	var w written
	if json.Unmarshal(text, &w) != nil {
		return Judgement{}, false
	}
	value, problem := f.check(w.Value)
	return Judgement{Value: value, Confidence: w.Confidence}, problem == ""
}
