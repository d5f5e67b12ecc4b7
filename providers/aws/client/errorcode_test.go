package client

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/smithy-go"
)

func TestCodesOfErrors(t *testing.T) {
	refused := func(code string) error {
		return fmt.Errorf("calling: %w", &smithy.GenericAPIError{Code: code})
	}
	for _, c := range []struct {
		err       error
		code      string
		throttled bool
	}{
		{refused("RuleNotFound"), "RuleNotFound", false},
		{refused("ResourceNotFoundException"), "ResourceNotFound", false},
		{refused("Throttling"), "Throttling", true},
		{refused("ThrottlingException"), "Throttling", true},
		{refused("ThrottledException"), "Throttled", true},
		{refused("EC2ThrottledException"), "EC2Throttled", true},
		{refused("RequestLimitExceeded"), "RequestLimitExceeded", true},
		{refused("TooManyRequestsException"), "TooManyRequests", true},
		{refused("TooManyRules"), "TooManyRules", false},
		{errors.New("connection reset"), "", false},
	} {
		if code := ErrorCode(c.err); code != c.code || isThrottle(code) != c.throttled {
			t.Errorf("%v: %q, throttled %v; want %q, %v", c.err, code, isThrottle(code), c.code, c.throttled)
		}
	}
}
