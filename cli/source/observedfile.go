package source

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/saved"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
)

// This file reads the state of load balancers from a file: what plan -o json or -o yaml has
// printed, or the state file of the fake provider.

// A State is the load balancers of a file.
type State struct {
	Observed map[lb.Key]*lb.Observed
	Settings map[lb.Key]plan.KnownSettings // as far as the file has them
	// ForeignRules are the priorities of rules, by port, that Fairlead did not create and keeps.
	ForeignRules map[lb.Key]map[int32][]int
}

// ReadState reads load balancers by key, and their settings. Without a file there are none.
func ReadState(file string) (State, error) {
	if file == "" {
		return State{}, nil
	}
	text, err := manifests.ReadFile(file, saved.MostBytes)
	if err != nil {
		return State{}, fmt.Errorf("%s: %w", file, err)
	}
	state, err := stateIn(text)
	if err != nil {
		return State{}, fmt.Errorf("%s: %w", file, stateProblem(text, err))
	}
	seen := state.Observed
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		if seen[key] == nil || seen[key].Key != key {
			const problem = "must be the name that the load balancer stands under"
			return State{}, fmt.Errorf("%s: %s: key: %s", file, key, problem)
		}
		order(seen[key])
	}
	return state, nil
}

// stateIn reads load balancers: those of the key state in the output of plan, or all of the
// file.
func stateIn(text []byte) (State, error) {
	text, err := manifests.ToJSON(text)
	if err != nil {
		return State{}, err
	}
	var printed struct {
		LoadBalancers json.RawMessage               `json:"loadBalancers"`
		Steps         json.RawMessage               `json:"steps"`
		State         map[lb.Key]*lb.Observed       `json:"state"`
		Settings      map[lb.Key]plan.KnownSettings `json:"settings"`
		ForeignRules  map[lb.Key]map[int32][]int    `json:"foreignRules"`
	}
	if err := json.Unmarshal(text, &printed); err != nil {
		return State{}, err
	}
	if printed.LoadBalancers != nil && printed.Steps != nil {
		if printed.State == nil {
			return State{}, errors.New("the output of a plan without the key state")
		}
		return State{printed.State, printed.Settings, printed.ForeignRules}, nil
	}
	var seen map[lb.Key]*lb.Observed
	err = json.Unmarshal(text, &seen)
	return State{Observed: seen}, err
}

// order sorts lists as Observed requires, whatever order the file has.
func order(o *lb.Observed) {
	slices.SortFunc(o.Listeners, func(a, b lb.ObservedListener) int { return int(a.Port - b.Port) })
	for i := range o.Listeners {
		slices.SortFunc(o.Listeners[i].Rules, func(a, b lb.ObservedRule) int {
			return a.Priority - b.Priority
		})
	}
	slices.SortFunc(o.TargetGroups, func(a, b lb.ObservedTargetGroup) int {
		return cmp.Compare(a.ID, b.ID)
	})
	slices.SortFunc(o.Certificates, func(a, b lb.ObservedCertificate) int {
		return cmp.Compare(a.ID, b.ID)
	})
}

// stateProblem returns where reading stopped, and why.
func stateProblem(text []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case len(text) == 0, errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &syntax) &&
		syntax.Offset >= int64(len(text)):
		return fmt.Errorf("the state is cut short after %d bytes", len(text))
	case errors.As(err, &syntax):
		return fmt.Errorf("not a state: byte %d: %w", syntax.Offset, syntax)
	case errors.As(err, &kind):
		return fmt.Errorf("not a state: %s: it must not be of type %s",
			cmp.Or(kind.Field, "the whole file"), kind.Value)
	}
	return fmt.Errorf("not a state: %w", err)
}
