// Package awserr explains AWS's errors.
//
// It maps them onto the classes of errors of package providers, and keeps AWS's words and the ID of
// the request. It says which permission or quota a refusal is about.
package awserr

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/errorcode"
)

// Explain returns an error of AWS in the class of errors that it belongs to; nil for nil.
func Explain(doing string, err error) error { return ExplainWith(doing, err, nil) }

// ExplainWith also says how much of a quota there is, with the limits of the account by their
// names.
func ExplainWith(doing string, err error, known map[string]int) error {
	if err == nil {
		return nil
	}
	code := errorcode.Read(err)
	advice, class := classify(code, err, known)
	text := doing + ": " + Describe(err)
	if advice != "" {
		text += "; " + advice
	}
	if class == nil {
		return explained{text, err}
	}
	return fmt.Errorf("%s: %w", text, class)
}

// An explained is an error without a class, in other words.
type explained struct {
	text string
	err  error
}

func (e explained) Error() string { return e.text }
func (e explained) Unwrap() error { return e.err }

// Describe returns AWS's code and words, and the ID of the request.
func Describe(err error) string {
	var refused smithy.APIError
	text := err.Error()
	if errors.As(err, &refused) {
		text = refused.ErrorCode() + ": " + readable(refused.ErrorMessage())
	}
	var response *http.ResponseError
	if errors.As(err, &response) && response.ServiceRequestID() != "" {
		text += " (request " + response.ServiceRequestID() + ")"
	}
	return text
}

// Is reports whether an error has one of some codes. An error that TooSoon has marked has none of
// them.
func Is(err error, codes ...string) bool {
	return err != nil && slices.Contains(codes, errorcode.Read(err)) && !IsTooSoon(err)
}

// classify returns the class of an error, and advice.
func classify(code string, err error, known map[string]int) (advice string, class error) {
	_, useless := unusable[code]
	switch {
	case IsTooSoon(err):
		return "it was made a moment ago, and AWS does not find it everywhere yet", providers.ErrPending
	case useless:
		return AdviseOnCredentials(code), providers.ErrDenied
	case slices.Contains([]string{"AccessDenied", "UnauthorizedOperation", "NotAuthorized"}, code):
		return permit(err), providers.ErrDenied
	case errorcode.Throttled(code):
		return "who else works in this account shares its rates", providers.ErrThrottled
	case strings.HasPrefix(code, "TooMany"), strings.HasSuffix(code, "LimitExceeded"),
		strings.HasSuffix(code, "LimitsExceeded"),
		code == "ServiceQuotaExceeded", code == "TargetGroupAssociationLimit":
		return raise(quotaIn(code, err), known)
	case slices.Contains(premature, code):
		return "", providers.ErrPending
	case slices.Contains(refusing, code):
		return "", providers.ErrRejected
	}
	return "", nil
}

// A tooSoonError is AWS's answer that it does not find a resource that this process created a
// moment ago, or knew until now.
type tooSoonError struct{ error }

func (t tooSoonError) Unwrap() error { return t.error }

// TooSoon marks an error as one of a resource that AWS does not find yet.
func TooSoon(err error) error { return tooSoonError{err} }

// IsTooSoon reports whether an error was marked by TooSoon.
func IsTooSoon(err error) bool {
	var soon tooSoonError
	return errors.As(err, &soon)
}
