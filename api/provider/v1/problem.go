package v1

import (
	"fmt"
	"net/http"
)

// ProblemMediaType is the media type of problems (https://www.rfc-editor.org/rfc/rfc9457).
const ProblemMediaType = "application/problem+json"

// A Problem is the reason why a call or a step failed.
type Problem struct {
	Type   ProblemType `json:"type"`
	Title  string      `json:"title,omitempty"`
	Status int         `json:"status,omitempty"`
	// Detail is shown to the authors of the Ingresses.
	Detail string `json:"detail,omitempty"`
	// RetryAfterSeconds is the time after which to try again, if it is known. For a call, the header Retry-After has
	// it, too.
	RetryAfterSeconds int `json:"retryAfterSeconds,omitempty"`
	// Versions are the versions of the protocol that the provider speaks, if the call has another one.
	Versions []int `json:"versions,omitempty"`
}

// Error implements error.
func (p *Problem) Error() string {
	if p.Detail != "" {
		return p.Detail
	}
	if p.Title != "" {
		return p.Title
	}
	return fmt.Sprintf("the provider answered with a problem of type %q", string(p.Type))
}

// NewProblem returns a problem of a type, with the title of the type and the status that it has as
// the problem of a call.
func NewProblem(kind ProblemType, detail string) *Problem {
	about := map[ProblemType]Problem{
		ProblemPending:   {Status: http.StatusConflict, Title: "not yet"},
		ProblemRejected:  {Status: http.StatusUnprocessableEntity, Title: "rejected"},
		ProblemNoRoom:    {Status: http.StatusUnprocessableEntity, Title: "there is no room"},
		ProblemDenied:    {Status: http.StatusForbidden, Title: "denied"},
		ProblemThrottled: {Status: http.StatusTooManyRequests, Title: "too many calls"},
		ProblemUnknown:   {Status: http.StatusUnprocessableEntity, Title: "unknown"},
		ProblemVersion:   {Status: http.StatusNotAcceptable, Title: "the version is not spoken"},
		ProblemTooLarge:  {Status: http.StatusRequestEntityTooLarge, Title: "too large"},
		ProblemMalformed: {Status: http.StatusBadRequest, Title: "malformed"},
	}
	p, known := about[kind]
	if !known {
		p = Problem{Status: http.StatusInternalServerError, Title: "the provider failed"}
	}
	p.Type, p.Detail = kind, detail
	return &p
}

// ProblemType is a kind of problem. For the operator, an unknown type is about:blank.
type ProblemType string

// The kinds of problems, each with its status where it is that of a whole call.
const (
	ProblemPending   ProblemType = "urn:fairlead:problem:pending"   // 409: not yet; try again later
	ProblemRejected  ProblemType = "urn:fairlead:problem:rejected"  // 422: it fails until the objects change
	ProblemNoRoom    ProblemType = "urn:fairlead:problem:no-room"   // 422: rejected until there is room
	ProblemDenied    ProblemType = "urn:fairlead:problem:denied"    // 403, 401: the credentials lack a permission
	ProblemThrottled ProblemType = "urn:fairlead:problem:throttled" // 429: too many calls
	ProblemUnknown   ProblemType = "urn:fairlead:problem:unknown"   // 422: a field, a value or an op that the provider does not know
	ProblemVersion   ProblemType = "urn:fairlead:problem:version"   // 406, 415: the provider does not speak this version
	ProblemTooLarge  ProblemType = "urn:fairlead:problem:too-large" // 413
	ProblemMalformed ProblemType = "urn:fairlead:problem:malformed" // 400, 404, 405
	ProblemOther     ProblemType = "about:blank"                    // 500, 503: try again, with growing waits
)
