package balancers

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/aws/smithy-go"

	"fairlead.dev/fairlead/providers/aws/client"
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
		if got := isServiceMissing(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestALoadBalancerThatIsGoneHasNoWebACLToWaitFor(t *testing.T) {
	w := NewWebACLs(client.API{}, nil, nil)
	for _, arn := range []string{"arn:one", "arn:other"} {
		w.unready.Wait(arn, time.Minute, time.Minute)
	}
	w.Forget("key", "arn:one")
	if w.unready.TooEarly("arn:one") || !w.unready.TooEarly("arn:other") || w.unready.Len() != 1 {
		t.Errorf("of two load balancers, one of them deleted, %d are remembered", w.unready.Len())
	}
}
