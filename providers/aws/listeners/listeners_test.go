package listeners

import (
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/providers/aws/network"
	"fairlead.dev/fairlead/test/classtags"
)

// AWS takes 50 tags of each resource.
func TestAListenerHasRoomForTheTagsOfAClass(t *testing.T) {
	var headers []string
	for _, h := range []string{"strict_transport_security", "access_control_allow_origin", "access_control_allow_methods", "access_control_allow_headers",
		"access_control_allow_credentials", "access_control_expose_headers", "access_control_max_age", "content_security_policy", "x_content_type_options", "x_frame_options"} {
		headers = append(headers, "routing.http.response."+h+".header_value")
	}
	ls := New(client.API{Owner: classtags.Owner}, &network.Firewalls{}, nil, nil, nil)
	classtags.Check(t, ls.tagsFor("fairlead/shop/site/internal", lb.Listener{Digest: "v1:0123", Settings: lb.ListenerSettings{
		Tags: classtags.All(), Attributes: classtags.With(look.ListenerDefaults, headers...), TLSPolicy: "policy", ClientSecrets: "v1:0123",
		Mutual: &routing.MutualAuthentication{Mode: "verify", TrustStore: "partners"},
	}}))
}
