package wire

import (
	"errors"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers"
)

// This file translates errors. Each class of errors of package providers is a type of problem. The
// message stays the same.

// classes has the types of problems with a class of errors.
var classes = []struct {
	kind  v1.ProblemType
	class error
}{
	{v1.ProblemNoRoom, providers.ErrNoRoom}, // before rejected, whose class it has, too
	{v1.ProblemRejected, providers.ErrRejected},
	{v1.ProblemPending, providers.ErrPending},
	{v1.ProblemDenied, providers.ErrDenied},
	{v1.ProblemThrottled, providers.ErrThrottled},
	{v1.ProblemUnknown, providers.ErrRejected},
	{v1.ProblemTooLarge, providers.ErrRejected},
}

// EncodeError converts an error to a problem.
func EncodeError(err error) *v1.Problem {
	p := v1.NewProblem(v1.ProblemOther, err.Error())
	for _, k := range classes {
		if errors.Is(err, k.class) {
			p = v1.NewProblem(k.kind, err.Error())
			break
		}
	}
	if soon, known := errors.AsType[*providers.RetryAfter](err); known {
		p.RetryAfterSeconds = int(max(soon.In, time.Second).Round(time.Second) / time.Second)
	}
	return p
}

// DecodeError converts a problem to an error of the class of its type, with the provider's message.
func DecodeError(p *v1.Problem) error {
	var err error = &ProviderError{Problem: p}
	for _, k := range classes {
		if k.kind == p.Type {
			err = &ProviderError{Problem: p, class: k.class}
		}
	}
	if p.RetryAfterSeconds > 0 {
		err = &providers.RetryAfter{Err: err, In: time.Duration(p.RetryAfterSeconds) * time.Second}
	}
	return err
}

// A ProviderError is an error that another process has sent.
type ProviderError struct {
	Problem *v1.Problem
	class   error
}

func (t *ProviderError) Error() string { return t.Problem.Error() }

// Unwrap returns the class of the error; nil for none.
func (t *ProviderError) Unwrap() error { return t.class }
