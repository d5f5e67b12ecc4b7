package attributes

import "fairlead.dev/fairlead/model/lb"

// This file has the defaults that AWS gives to attributes.

// LoadBalancerDefaults and TargetGroupDefaults are AWS's defaults. Attributes that depend on another
// one have none.
var (
	LoadBalancerDefaults = lb.ALBDefaults()
	TargetGroupDefaults  = lb.ALBGroupDefaults()
)

// ListenerDefaults are AWS's defaults of listener attributes: the names of request headers, and whether
// responses have a Server header. The default of all other listener attributes is the empty string.
var ListenerDefaults = map[string]string{
	"routing.http.request.x_amzn_mtls_clientcert_serial_number.header_name": "X-Amzn-Mtls-Clientcert-Serial-Number",
	"routing.http.request.x_amzn_mtls_clientcert_issuer.header_name":        "X-Amzn-Mtls-Clientcert-Issuer",
	"routing.http.request.x_amzn_mtls_clientcert_subject.header_name":       "X-Amzn-Mtls-Clientcert-Subject",
	"routing.http.request.x_amzn_mtls_clientcert_validity.header_name":      "X-Amzn-Mtls-Clientcert-Validity",
	"routing.http.request.x_amzn_mtls_clientcert_leaf.header_name":          "X-Amzn-Mtls-Clientcert-Leaf",
	"routing.http.request.x_amzn_mtls_clientcert.header_name":               "X-Amzn-Mtls-Clientcert",
	"routing.http.request.x_amzn_tls_version.header_name":                   "X-Amzn-Tls-Version",
	"routing.http.request.x_amzn_tls_cipher_suite.header_name":              "X-Amzn-Tls-Cipher-Suite",
	"routing.http.response.server.enabled":                                  "true",
}
