package providers_test

import (
	"context"
	"testing"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
)

// slow is a cloud whose changes take until somebody says so.
type slow struct {
	providers.Provider
	begun, end chan struct{}
}

func (s slow) change() error {
	close(s.begun)
	<-s.end
	return nil
}

func (s slow) Apply(context.Context, *lb.Observed, plan.Step) (plan.Result, error) {
	return plan.Result{}, s.change()
}

func (s slow) SetTargets(context.Context, lb.Key, lb.GroupID, []lb.Target) error {
	return s.change()
}

func TestACloudThatIsCalledBackIsChangedNoMore(t *testing.T) {
	seen := &lb.Observed{Key: "fairlead/ns/shop/internal"}
	for name, change := range map[string]func(providers.Provider) error{
		"a step": func(p providers.Provider) error {
			_, err := p.Apply(t.Context(), seen, plan.DeleteLoadBalancer{})
			return err
		},
		"targets": func(p providers.Provider) error { return p.SetTargets(t.Context(), seen.Key, "ns/web:80", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			cloud := slow{begun: make(chan struct{}), end: make(chan struct{})}
			loan, underWay, back := providers.Lend(cloud), make(chan error, 1), make(chan struct{})
			go func() { underWay <- change(loan) }()
			<-cloud.begun
			go func() {
				loan.CallBack()
				close(back)
			}()
			select {
			case <-back:
				t.Error("the cloud is back while a change is under way")
			case <-time.After(10 * time.Millisecond):
			}
			close(cloud.end)
			if err := <-underWay; err != nil {
				t.Errorf("a change that was under way is answered %v", err)
			}
			<-back
			if change(loan) == nil {
				t.Error("the cloud was changed after it was called back")
			}
		})
	}
}
