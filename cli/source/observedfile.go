package source

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"fairlead.dev/fairlead/model/lb"
)

// This file reads the state of load balancers from a file: the state file of the fake provider, or
// one like it.

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
	var seen map[lb.Key]*lb.Observed
	if err := json.Unmarshal(text, &seen); err != nil {
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
		return fmt.Errorf("not a state: %s: a %s stands there", kind.Field, kind.Value)
	}
	return fmt.Errorf("not a state: %w", err)
}
