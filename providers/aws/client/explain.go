package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
)

// Explain returns an error of AWS in its class of errors; nil for nil.
func Explain(doing string, err error) error { return ExplainWith(doing, err, nil) }

// ExplainWith adds the size of a quota to Explain. known has the limits of the account by name.
func ExplainWith(doing string, err error, known map[string]int) error {
	if err == nil {
		return nil
	}
	code := ErrorCode(err)
	advice, class := classify(code, err, known)
	text := doing + ": " + Describe(err)
	if advice != "" {
		text += "; " + advice
	}
	if class == nil {
		return describedError{text, err}
	}
	return fmt.Errorf("%s: %w", text, class)
}

// ExplainForward is Explain for a step with an action. If AWS does not find a target group that others
// made, the step is rejected: no new observation has it.
func ExplainForward(doing string, a lb.Action, err error) error {
	var others []string
	for _, id := range a.Groups() {
		if lb.OthersMade(id) {
			others = append(others, string(id))
		}
	}
	if len(others) == 0 || !HasCode(err, "TargetGroupNotFound") {
		return Explain(doing, err)
	}
	return fmt.Errorf("%s: %s; target groups of others are %s: %w", doing, Describe(err),
		strings.Join(others, ", "), providers.ErrRejected)
}

// A describedError is an error without a class, with another text.
type describedError struct {
	text string
	err  error
}

func (e describedError) Error() string { return e.text }
func (e describedError) Unwrap() error { return e.err }

// Describe returns AWS's code and message, and the ID of the request.
func Describe(err error) string {
	var refused smithy.APIError
	text := err.Error()
	if errors.As(err, &refused) {
		text = refused.ErrorCode() + ": " + withoutEncodedPart(refused.ErrorMessage())
	}
	var response *http.ResponseError
	if errors.As(err, &response) && response.ServiceRequestID() != "" {
		text += " (request " + response.ServiceRequestID() + ")"
	}
	return text
}

// HasCode reports whether an error has one of some codes. An error that markTooSoon has marked has none
// of them.
func HasCode(err error, codes ...string) bool {
	return err != nil && slices.Contains(codes, ErrorCode(err)) && !isTooSoon(err)
}

// classify returns the class of an error, and advice.
func classify(code string, err error, known map[string]int) (advice string, class error) {
	_, useless := credentialErrors[code]
	switch {
	case isTooSoon(err):
		return "it was created a moment ago, and AWS does not find it everywhere yet",
			providers.ErrPending
	case useless:
		return AdviseOnCredentials(code), providers.ErrDenied
	case slices.Contains([]string{"AccessDenied", "UnauthorizedOperation", "NotAuthorized"}, code):
		return adviseOnPermission(err), providers.ErrDenied
	case isThrottle(code):
		return "all programs in this account share its rates", providers.ErrThrottled
	case strings.HasPrefix(code, "TooMany"), strings.HasSuffix(code, "LimitExceeded"),
		strings.HasSuffix(code, "LimitsExceeded"),
		code == "ServiceQuotaExceeded", code == "TargetGroupAssociationLimit":
		return adviseOnQuota(quotaIn(code, err), known)
	case slices.Contains(pendingCodes, code):
		return "", providers.ErrPending
	case slices.Contains(rejectedCodes, code):
		return "", providers.ErrRejected
	}
	return "", nil
}

// A tooSoonError is AWS's answer that it does not find a resource that this process created a
// moment ago, or knew before.
type tooSoonError struct{ error }

func (t tooSoonError) Unwrap() error { return t.error }

// markTooSoon marks an error as that of a resource that AWS does not find yet.
func markTooSoon(err error) error { return tooSoonError{err} }

// isTooSoon reports whether an error was marked by markTooSoon.
func isTooSoon(err error) bool {
	var soon tooSoonError
	return errors.As(err, &soon)
}
