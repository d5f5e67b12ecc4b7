// Package refusal has refusals of calls, in AWS's words.
package refusal

import (
	"fmt"
	"net/http"
)

// An Error is a refusal, with AWS's code.
type Error struct {
	Code    string
	Message string
	Status  int
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// New returns a refusal of a request that is not good.
func New(code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Status: http.StatusBadRequest}
}
