package gather

import (
	"context"
	"errors"
	"testing"

	"fairlead.dev/fairlead/controllers/records"
	"fairlead.dev/fairlead/model/lb"
)

// A slowKeeper answers when it is told to.
type slowKeeper struct {
	records.Store
	asked, answer chan struct{}
}

func (k slowKeeper) Load(context.Context) (map[lb.Key]records.Record, error) {
	k.asked <- struct{}{}
	<-k.answer
	return map[lb.Key]records.Record{"a": {Rules: 1}}, nil
}

func TestNobodyIsHeldUpWhileMemoriesAreRead(t *testing.T) {
	k := slowKeeper{asked: make(chan struct{}), answer: make(chan struct{})}
	m := records.NewCache(k, false)
	read := make(chan error, 1)
	go func() { read <- m.Ready(t.Context()) }()
	<-k.asked
	if got := m.Get("a"); got.Rules != 0 {
		t.Errorf("before they are read there is %v", got)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := m.Ready(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("who cannot wait is told %v", err)
	}
	close(k.answer)
	if err := <-read; err != nil {
		t.Error(err)
	}
	if err := m.Ready(t.Context()); err != nil || m.Get("a").Rules != 1 {
		t.Errorf("afterwards there is %v, error %v", m.Get("a"), err)
	}
}
