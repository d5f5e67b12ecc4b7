package wire

import (
	"errors"
	"net/http"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers"
)

// This file translates errors. Each class of errors of package providers is a type of problem. The
// message stays the same.

// problemKinds has the types of problems: the class of each, its status as the problem of a call,
// and its title.
var problemKinds = []struct {
	kind   v1.ProblemType
	class  error // nil for types that only a server sends
	status int
	title  string
}{
	{v1.ProblemNoRoom, providers.ErrNoRoom, http.StatusUnprocessableEntity, "there is no room"}, // before rejected, whose class it has, too
	{v1.ProblemRejected, providers.ErrRejected, http.StatusUnprocessableEntity, "rejected"},
	{v1.ProblemPending, providers.ErrPending, http.StatusConflict, "not yet"},
	{v1.ProblemDenied, providers.ErrDenied, http.StatusForbidden, "denied"},
	{v1.ProblemThrottled, providers.ErrThrottled, http.StatusTooManyRequests, "too many calls"},
	{v1.ProblemUnknown, providers.ErrRejected, http.StatusUnprocessableEntity, "unknown"},
	{v1.ProblemTooLarge, providers.ErrRejected, http.StatusRequestEntityTooLarge, "too large"},
	{v1.ProblemVersion, nil, http.StatusNotAcceptable, "the version is not spoken"},
	{v1.ProblemMalformed, nil, http.StatusBadRequest, "malformed"},
	{v1.ProblemOther, nil, http.StatusInternalServerError, "the provider failed"},
}

// EncodeError converts an error to a problem.
func EncodeError(err error) *v1.Problem {
	p := NewProblem(v1.ProblemOther, err.Error())
	for _, k := range problemKinds {
		if errors.Is(err, k.class) {
			p = NewProblem(k.kind, err.Error())
			break
		}
	}
	if soon, known := errors.AsType[*providers.RetryAfter](err); known {
		p.RetryAfterSeconds = int(max(soon.In, time.Second).Round(time.Second) / time.Second)
	}
	return p
}

// NewProblem returns a problem of a type, with its status and title.
func NewProblem(kind v1.ProblemType, detail string) *v1.Problem {
	p := &v1.Problem{
		Type: kind, Detail: detail, Status: http.StatusInternalServerError, Title: "the provider failed",
	}
	for _, k := range problemKinds {
		if k.kind == kind {
			p.Status, p.Title = k.status, k.title
		}
	}
	return p
}

// DecodeError converts a problem to an error of the class of its type, with the provider's message.
func DecodeError(p *v1.Problem) error {
	var err error = &ProviderError{Problem: p}
	for _, k := range problemKinds {
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
