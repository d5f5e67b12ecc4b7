package source

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/model/lb"
)

// This file reads the state of load balancers from a file: what plan -o json or -o yaml has
// printed, or the state file of the fake provider.

// ReadObserved reads load balancers by key. Without a file there are none.
func ReadObserved(file string) (map[lb.Key]*lb.Observed, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		// The inner error lacks the path, which is printed already.
		return nil, fmt.Errorf("%s: %w", file, errors.Unwrap(err))
	}
	seen, err := observedIn(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, stateProblem(text, err))
	}
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		if seen[key] == nil || seen[key].Key != key {
			return nil, fmt.Errorf("%s: %s: key: must be the name that the load balancer stands under", file,
				key)
		}
		order(seen[key])
	}
	return seen, nil
}

// observedIn reads load balancers: those of the key state in the output of plan, or all of the
// file.
func observedIn(text []byte) (map[lb.Key]*lb.Observed, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) && len(text) > 0 {
		var err error
		if text, err = yaml.YAMLToJSON(text); err != nil {
			return nil, fmt.Errorf("reading YAML: %w", err)
		}
	}
	var plan struct {
		LoadBalancers json.RawMessage         `json:"loadBalancers"`
		Steps         json.RawMessage         `json:"steps"`
		State         map[lb.Key]*lb.Observed `json:"state"`
	}
	if err := json.Unmarshal(text, &plan); err != nil {
		return nil, err
	}
	if plan.LoadBalancers != nil && plan.Steps != nil {
		if plan.State == nil {
			return nil, errors.New("the output of a plan without the key state")
		}
		return plan.State, nil
	}
	var seen map[lb.Key]*lb.Observed
	err := json.Unmarshal(text, &seen)
	return seen, err
}

// order sorts lists as Observed requires, whatever order the file has.
func order(o *lb.Observed) {
	slices.SortFunc(o.Listeners, func(a, b lb.ObservedListener) int { return int(a.Port - b.Port) })
	for i := range o.Listeners {
		slices.SortFunc(o.Listeners[i].Rules, func(a, b lb.ObservedRule) int { return a.Priority - b.Priority })
	}
	slices.SortFunc(o.TargetGroups, func(a, b lb.ObservedTargetGroup) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(o.Certificates, func(a, b lb.ObservedCertificate) int { return cmp.Compare(a.ID, b.ID) })
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
