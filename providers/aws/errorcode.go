package aws

import (
	"errors"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
)

// codeOf is AWS's name of an error, without the suffix that some services add; empty where AWS did not
// answer.
func codeOf(err error) string {
	var refused smithy.APIError
	if !errors.As(err, &refused) {
		return ""
	}
	return strings.TrimSuffix(refused.ErrorCode(), "Exception")
}

// throttled reports whether AWS refuses a call because there are too many.
func throttled(code string) bool {
	return strings.HasPrefix(code, "Throttl") || slices.Contains([]string{"RequestLimitExceeded", "TooManyRequests", "RequestThrottled", "SlowDown"}, code)
}
