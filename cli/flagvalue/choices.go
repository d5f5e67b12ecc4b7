// Package flagvalue holds the types of flags: each checks its value as it is set, wherever the
// value comes from.
package flagvalue

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// This file holds flags whose values are words: one of a few, or a list.

// List returns a flag with several values, separated by commas.
func List(values *[]string) pflag.Value { return list{values} }

type list struct{ values *[]string }

func (l list) Set(s string) error {
	*l.values = nil
	for value := range strings.SplitSeq(s, ",") {
		if value = strings.TrimSpace(value); value != "" {
			*l.values = append(*l.values, value)
		}
	}
	return nil
}

func (l list) String() string {
	if l.values == nil {
		return "" // of the zero value, which pflag asks for
	}
	return strings.Join(*l.values, ",")
}

func (l list) Type() string { return "list" }

// A Choice is a flag with one of a few values.
type Choice struct {
	value  *string
	Values []string
}

// OneOf returns a flag with one of the values; unset is its default.
func OneOf(value *string, unset string, values ...string) Choice {
	*value = unset
	return Choice{value, values}
}

func (c Choice) String() string {
	if c.value == nil {
		return "" // of the zero value, which pflag asks for
	}
	return *c.value
}

// Set is for pflag.Value.
func (c Choice) Set(v string) error {
	if !slices.Contains(c.Values, v) {
		return errors.New("it can be " + Names(c.Values))
	}
	*c.value = v
	return nil
}

// Type is for pflag.Value.
func (c Choice) Type() string { return "string" }

// Names returns values as prose: a, b or c.
func Names(values []string) string {
	last := len(values) - 1
	if last <= 0 {
		return strings.Join(values, "")
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// Complete has the shell complete a flag with one of the values.
func Complete(cmd *cobra.Command, flag string, values ...string) {
	values = slices.Clone(values)
	complete := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	Must(cmd.RegisterFlagCompletionFunc(flag, complete))
}

// Must panics on the error of a call about a flag that the caller has just defined.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
