package awscalls

import (
	"errors"
	"fmt"
	"testing"
)

// This file compares what a call returns with what the test wants.

// Expect fails the test where a value is not printed as the wanted one is.
func Expect[T any](t testing.TB, about string, got, want T) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", about, got, want)
	}
}

// ExpectError fails the test unless an error is of a class; nil for none.
func ExpectError(t testing.TB, about string, err, class error) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Errorf("%s: the error is %v, want %v", about, err, class)
	}
}
