package awscalls

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Answers has a function for each operation that is called, and the names of the calls.
type Answers struct {
	mu    sync.Mutex
	by    map[reflect.Type]func(in any) (any, error)
	calls []string
}

// On answers an operation with a function from now on.
func On[In, Out any](a *Answers, answer func(*In) (*Out, error)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by = map[reflect.Type]func(any) (any, error){}
	}
	a.by[reflect.TypeFor[*In]()] = func(in any) (any, error) { return answer(in.(*In)) }
}

// Config returns the settings of clients whose calls are answered. An operation without a function
// fails.
func (a *Answers) Config() aws.Config {
	return Config(func(in any) (any, error) {
		_, name, _ := strings.Cut(strings.TrimSuffix(fmt.Sprintf("%T", in), "Input"), ".")
		a.mu.Lock()
		a.calls = append(a.calls, name)
		answer := a.by[reflect.TypeOf(in)]
		a.mu.Unlock()
		if answer == nil {
			return nil, fmt.Errorf("a call that is not expected: %s %+v", name, in)
		}
		return answer(in)
	})
}

// Calls returns the names of the calls since the last time.
func (a *Answers) Calls() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := slices.Clone(a.calls)
	a.calls = nil
	return calls
}
