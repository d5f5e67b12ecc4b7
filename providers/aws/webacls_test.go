package aws

import (
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/aws/smithy-go"
)

func TestAServiceThatIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"no error":                {nil, false},
		"no address":              {fmt.Errorf("sending: %w", &net.DNSError{Err: "no such host", Name: "wafv2.us-iso-east-1.c2s.ic.gov", IsNotFound: true}), true},
		"a resolver that is slow": {&net.DNSError{Err: "i/o timeout", IsTimeout: true}, false},
		"not signed up":           {&smithy.GenericAPIError{Code: "OptInRequired"}, true},
		"no permission":           {&smithy.GenericAPIError{Code: "AccessDeniedException"}, false},
		"anything else":           {errors.New("connection reset"), false},
	} {
		if got := missing(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
