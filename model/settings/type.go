package settings

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"fairlead.dev/fairlead/model/settings/fields"
)

// This file is the types of values, with their bounds. The CRDs have the same bounds: a test
// compares them.

// A Type is what the values of a setting can be.
type Type struct {
	fields.Bound
	Unit string // of an integer, as in "seconds"

	words string             // what the values look like, for a text
	check func(string) error // what no bound can say
}

// Check returns what is wrong with a value.
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

// Validate returns what is wrong with a value of a field.
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

// canonical returns the one spelling of an integer, and any other value as it is.
func (t Type) canonical(value string) string {
	if n, err := strconv.Atoi(value); err == nil && t.isInteger() {
		return strconv.Itoa(n)
	}
	return value
}

// String says what the values look like.
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

// oneOf is the type of an enumeration.
func oneOf[T ~string](known ...T) Type {
	var t Type
	for _, k := range known {
		t.Known = append(t.Known, string(k))
	}
	return t
}

// number is the type of an integer.
func number(least, most int) Type { return Type{Bound: fields.Bound{Least: least, Most: most}} }

// seconds is the type of a number of seconds.
func seconds(least, most int) Type {
	t := number(least, most)
	t.Unit = "seconds"
	return t
}

// text is the type of a text of which a function says what is wrong with it. The function is nil
// where put does.
func text(words string, check func(string) error) Type { return Type{words: words, check: check} }

// list is the type of a list with bounds of its items.
func list(words string, fewest, most int, check func(string) error) Type {
	return Type{words: words, Bound: fields.Bound{FewestItems: fewest, MostItems: most}, check: check}
}

func integer(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("it is not an integer from %d to %d", least, most)
	}
	return n, nil
}
