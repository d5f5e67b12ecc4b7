package saved

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file has the tables of all load balancers, with the Secrets that they were made with.

// A State is what requests get from all load balancers.
type State struct {
	// Providers are those that the tables were compiled for; absent in states of older versions.
	Providers []string `json:"providers,omitempty"`
	// Tables are made with the assumed Secrets.
	Tables []Table `json:"tables"`
	// Secrets are those that were there and that something names, by namespace/name.
	Secrets []string `json:"secrets"`
	// Assumed are Secrets that were missing, and that are assumed to exist.
	Assumed []string `json:"assumed"`
	// Unassumed are the tables as they are made without those; left out where all Secrets were there.
	Unassumed []Table `json:"unassumed,omitempty"`
	// Problems are the objects and files that the plan left out. They are printed beside the state.
	Problems manifests.Problems `json:"-"`
}

// StateOf returns a state without tables.
func StateOf(secrets, assumed []string) State {
	return State{Tables: []Table{}, Secrets: append([]string{}, secrets...),
		Assumed: append([]string{}, assumed...)}
}

// All returns tables as they are printed.
func All(tables []*precedence.Table) []Table {
	out := []Table{}
	for _, t := range tables {
		out = append(out, Of(t))
	}
	return out
}

// Beside returns the state as it is compared with a configuration that has some Secrets: a Secret
// is assumed only if both lack it.
func (s State) Beside(secrets []string) (State, error) {
	there := func(name string) bool { return slices.Contains(secrets, name) }
	absent := func(name string) bool { return !there(name) }
	switch {
	case !slices.ContainsFunc(s.Assumed, there):
		return s, nil
	case slices.ContainsFunc(s.Assumed, absent):
		return s, errMixed
	}
	return State{Tables: s.Unassumed, Secrets: s.Secrets}, nil
}

// For returns an error if the state is of other providers than those.
func (s State) For(providers []string) error {
	if len(s.Providers) == 0 || slices.Equal(s.Providers, providers) {
		return nil
	}
	return fmt.Errorf("the saved state was compiled for %[1]s, and it is to be compared with files "+
		"for %[2]s: give --provider %[1]s, or plan again",
		strings.Join(s.Providers, ","), strings.Join(providers, ","))
}

var errMixed = errors.New("of the Secrets that a saved state lacks, the other configuration has " +
	"some and not all: plan again with these Secrets, or without them")

// Read returns the tables that were printed.
func (s State) Read() ([]*precedence.Table, error) {
	var out []*precedence.Table
	for _, t := range s.Tables {
		table, err := t.Table()
		if err != nil {
			return nil, err
		}
		out = append(out, table)
	}
	return out, nil
}
