package settings

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// This file has the types of values, with their bounds. The CRDs have the same bounds: a test
// compares them.

// A Type has the values that a setting can have.
type Type struct {
	Bound
	Unit string // of an integer, as in "seconds"

	words string             // the form of a text
	check func(string) error // further checks
}

// Check returns the error in a value, or nil.
func (t Type) Check(value string) error {
	switch {
	case t.Known != nil && !slices.Contains(t.Known, value):
		return fmt.Errorf("it is neither %s", strings.Join(t.Known, " nor "))
	case t.isInteger():
		_, err := integer(value, t.Least, t.Most)
		return err
	case t.Longest > 0 && len(value) > t.Longest:
		return fmt.Errorf("it has more than %d characters", t.Longest)
	}
	if t.check != nil {
		if err := t.check(value); err != nil {
			return err
		}
	}
	if t.Pattern != nil && !t.Pattern.MatchString(value) {
		return errors.New(t.Unlike)
	}
	return nil
}

// Validate returns the error in a value of a field, or nil.
func (t Type) Validate(value string, at *field.Path) *field.Error {
	err := t.Check(value)
	switch {
	case err == nil:
		return nil
	case t.Known != nil:
		return field.NotSupported(at, value, t.Known)
	case t.isInteger():
		if n, err := strconv.Atoi(value); err == nil {
			return field.Invalid(at, n, validation.InclusiveRangeError(t.Least, t.Most))
		}
	}
	return field.Invalid(at, value, err.Error())
}

// canonical returns the canonical form of an integer, and other values unchanged.
func (t Type) canonical(value string) string {
	if n, err := strconv.Atoi(value); err == nil && t.isInteger() {
		return strconv.Itoa(n)
	}
	return value
}

// String describes the values.
func (t Type) String() string {
	switch {
	case t.words != "":
		return t.words
	case t.Known != nil:
		last := len(t.Known) - 1
		return "`" + strings.Join(t.Known[:last], "`, `") + "` or `" + t.Known[last] + "`"
	case t.Unit != "":
		return fmt.Sprintf("%s from %d to %d", t.Unit, t.Least, t.Most)
	}
	return fmt.Sprintf("integer from %d to %d", t.Least, t.Most)
}

func (t Type) isInteger() bool { return t.Least != 0 || t.Most != 0 }

// oneOf returns the type of an enumeration.
func oneOf[T ~string](known ...T) Type {
	var t Type
	for _, k := range known {
		t.Known = append(t.Known, string(k))
	}
	return t
}

// number returns the type of an integer.
func number(least, most int) Type { return Type{Bound: Bound{Least: least, Most: most}} }

// seconds returns the type of a number of seconds.
func seconds(least, most int) Type {
	t := number(least, most)
	t.Unit = "seconds"
	return t
}

// text returns the type of a text that a function checks. The function is nil if put checks it.
func text(words string, check func(string) error) Type { return Type{words: words, check: check} }

// list returns the type of a list with bounds of the number of its items.
func list(words string, fewest, most int, check func(string) error) Type {
	return Type{words: words, Bound: Bound{FewestItems: fewest, MostItems: most}, check: check}
}

func integer(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("it is not an integer from %d to %d", least, most)
	}
	return n, nil
}
