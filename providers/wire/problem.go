package wire

import (
	"errors"
	"net/http"
	"time"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers"
)

// This file translates errors. A class of errors of package providers is a type of problem, and the
// message is kept.

// kinds are the types of problems: the class of each, its status where it is that of a call, and
// its title.
var kinds = []struct {
	kind   v1.ProblemType
	class  error // nil for those that only a server tells of
	status int
	title  string
}{
	{v1.ProblemNoRoom, providers.ErrNoRoom, http.StatusUnprocessableEntity, "there is no room"}, // before rejected, which it is, too
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

// EncodeError writes an error as a problem.
func EncodeError(err error) *v1.Problem {
	p := NewProblem(v1.ProblemOther, err.Error())
	for _, k := range kinds {
		if errors.Is(err, k.class) {
			p = NewProblem(k.kind, err.Error())
			break
		}
	}
	if soon, known := errors.AsType[*providers.Later](err); known {
		p.RetryAfterSeconds = int(max(soon.In, time.Second).Round(time.Second) / time.Second)
	}
	return p
}

// NewProblem makes a problem of a type, with the status that a call with it has.
func NewProblem(kind v1.ProblemType, detail string) *v1.Problem {
	p := &v1.Problem{
		Type: kind, Detail: detail, Status: http.StatusInternalServerError, Title: "the provider failed",
	}
	for _, k := range kinds {
		if k.kind == kind {
			p.Status, p.Title = k.status, k.title
		}
	}
	return p
}

// DecodeError reads a problem as an error of the class of its type. The message is the provider's.
func DecodeError(p *v1.Problem) error {
	var err error = &Told{Problem: p}
	for _, k := range kinds {
		if k.kind == p.Type {
			err = &Told{Problem: p, class: k.class}
		}
	}
	if p.RetryAfterSeconds > 0 {
		err = &providers.Later{Err: err, In: time.Duration(p.RetryAfterSeconds) * time.Second}
	}
	return err
}

// Told is an error that a provider tells of.
type Told struct {
	Problem *v1.Problem
	class   error
}

func (t *Told) Error() string { return t.Problem.Error() }

// Unwrap is the class of the error; nil for none.
func (t *Told) Unwrap() error { return t.class }
