package flagvalue

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// This file holds flags whose values are numbers and durations.

// Positive returns a flag that is a duration of more than zero; unset is its default.
func Positive(value *time.Duration, unset time.Duration) pflag.Value {
	*value = unset
	return duration{value}
}

type duration struct{ value *time.Duration }

func (d duration) String() string {
	if d.value == nil {
		return "" // of the zero value, which pflag asks for
	}
	return d.value.String()
}

func (d duration) Set(v string) error {
	parsed, err := time.ParseDuration(v)
	if err != nil {
		return fmt.Errorf("reading a duration like 90s or 1h30m: %w", err)
	}
	if parsed <= 0 {
		return errors.New("it has to be more than zero")
	}
	*d.value = parsed
	return nil
}

func (d duration) Type() string { return "duration" }

// AtLeastOne returns a flag that is a whole number of at least one; unset is its default.
func AtLeastOne(value *int, unset int) pflag.Value {
	*value = unset
	return count{value}
}

type count struct{ value *int }

func (c count) String() string {
	if c.value == nil {
		return "" // of the zero value, which pflag asks for
	}
	return strconv.Itoa(*c.value)
}

func (c count) Set(v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return errors.New("it has to be a whole number of at least 1")
	}
	*c.value = n
	return nil
}

func (c count) Type() string { return "int" }

// Rate returns a flag that is a number a second; zero is no limit.
func Rate(value *float64) pflag.Value { return rate{value} }

type rate struct{ value *float64 }

func (r rate) String() string {
	if r.value == nil {
		return "" // of the zero value, which pflag asks for
	}
	return strconv.FormatFloat(*r.value, 'g', -1, 64)
}

func (r rate) Set(v string) error {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= 0) || math.IsInf(f, 0) {
		return errors.New("it has to be a number that is not below 0")
	}
	*r.value = f
	return nil
}

func (r rate) Type() string { return "float64" }
