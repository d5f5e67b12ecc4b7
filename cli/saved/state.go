package saved

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file has the tables of all load balancers, with the Secrets that they were compiled with.

// A State is the routing tables of all load balancers.
type State struct {
	// Providers are the providers of the tables; absent in states of older versions.
	Providers []string `json:"providers,omitempty"`
	// Tables are compiled with the assumed Secrets.
	Tables []Table `json:"tables"`
	// Secrets are the existing Secrets that an object names, by namespace/name.
	Secrets []string `json:"secrets"`
	// Assumed are missing Secrets that are assumed to exist.
	Assumed []string `json:"assumed"`
	// TablesWithoutAssumed are the tables compiled without the assumed Secrets; absent if there are
	// none.
	TablesWithoutAssumed []Table `json:"unassumed,omitempty"`
	// Problems are the objects and files that the plan left out. They are printed after the state.
	Problems manifests.Problems `json:"-"`
}

// StateOf returns a state without tables.
func StateOf(secrets, assumed []string) State {
	return State{Tables: []Table{}, Secrets: append([]string{}, secrets...),
		Assumed: append([]string{}, assumed...)}
}

// TablesOf returns tables in their printed form.
func TablesOf(tables []*precedence.Table) []Table {
	out := []Table{}
	for _, t := range tables {
		out = append(out, TableOf(t))
	}
	return out
}

// ComparableWith returns the state to compare with a configuration that has these Secrets. It fails
// if the configuration has only some of the assumed ones.
func (s State) ComparableWith(secrets []string) (State, error) {
	there := func(name string) bool { return slices.Contains(secrets, name) }
	absent := func(name string) bool { return !there(name) }
	switch {
	case !slices.ContainsFunc(s.Assumed, there):
		return s, nil
	case slices.ContainsFunc(s.Assumed, absent):
		return s, errMixed
	}
	return State{Tables: s.TablesWithoutAssumed, Secrets: s.Secrets}, nil
}

// CheckProviders returns an error if the state was compiled for other providers.
func (s State) CheckProviders(providers []string) error {
	if len(s.Providers) == 0 || slices.Equal(s.Providers, providers) {
		return nil
	}
	return fmt.Errorf("the saved state was compiled for %[1]s, and it is to be compared with files "+
		"for %[2]s: give --provider %[1]s, or plan again",
		strings.Join(s.Providers, ","), strings.Join(providers, ","))
}

var errMixed = errors.New("of the Secrets that a saved state lacks, the other configuration has " +
	"some and not all: plan again with these Secrets, or without them")

// Read returns the tables of the state.
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
