package client

import (
	"errors"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
)

// ErrorCode returns AWS's code of an error, without the suffix that some services add. It returns "" if
// AWS did not answer.
func ErrorCode(err error) string {
	var refused smithy.APIError
	if !errors.As(err, &refused) {
		return ""
	}
	return strings.TrimSuffix(refused.ErrorCode(), "Exception")
}

// isThrottle reports whether a code says that there are too many calls.
func isThrottle(code string) bool {
	return strings.HasPrefix(code, "Throttl") ||
		// The SDK's own retries count these as throttling (DefaultThrottleErrorCodes of aws/retry).
		slices.Contains([]string{"EC2Throttled", "RequestLimitExceeded", "TooManyRequests",
			"RequestThrottled", "SlowDown"}, code)
}
