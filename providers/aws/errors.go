package aws

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

// This file maps AWS's errors onto the classes that callers know, with AWS's words, the request's
// ID and what can be done about it.

// explained is an error of AWS in the class of errors that it belongs to; nil for none.
func explained(doing string, err error) error { return explain(doing, err, nil) }

func explain(doing string, err error, known map[string]int) error {
	if err == nil {
		return nil
	}
	code := errorcode.Of(err)
	advice, class := classify(code, err, known)
	text := doing + ": " + describe(err)
	if advice != "" {
		text += "; " + advice
	}
	if class == nil {
		return told{text, err}
	}
	return fmt.Errorf("%s: %w", text, class)
}

// told is an error in other words.
type told struct {
	text string
	err  error
}

func (t told) Error() string { return t.text }
func (t told) Unwrap() error { return t.err }

// describe is what AWS says, and which request it says it of.
func describe(err error) string {
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

// is reports whether an error is one of those that AWS calls by the given names. That something is
// not found which was made a moment ago is none of them.
func is(err error, codes ...string) bool {
	return err != nil && slices.Contains(codes, errorcode.Of(err)) && !isTooSoon(err)
}

// classify is the class of an error and what to do about it.
func classify(code string, err error, known map[string]int) (advice string, class error) {
	_, useless := unusable[code]
	switch {
	case code == "":
		return "", nil
	case isTooSoon(err):
		return "it was made a moment ago, and AWS does not find it everywhere yet", providers.ErrPending
	case useless:
		return renew(code), providers.ErrDenied
	case slices.Contains([]string{"AccessDenied", "UnauthorizedOperation", "NotAuthorized"}, code):
		return permit(err), providers.ErrDenied
	case errorcode.Throttled(code):
		return "who else works in this account shares its rates", providers.ErrThrottled
	case strings.HasPrefix(code, "TooMany"), strings.HasSuffix(code, "LimitExceeded"), strings.HasSuffix(code, "LimitsExceeded"),
		code == "ServiceQuotaExceeded", code == "TargetGroupAssociationLimit":
		return raise(quotaIn(code, err), known)
	case slices.Contains(premature, code):
		return "", providers.ErrPending
	case slices.Contains(refusing, code):
		return "", providers.ErrRejected
	}
	return "", nil
}
