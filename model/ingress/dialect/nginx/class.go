package nginx

import (
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/routing"
)

// This file reads what the class says about ingress-nginx, beside the data of its ConfigMap.

// A front is the load balancer of the controller's Service. Its annotations are documented in docs/service_controller.md of
// kubernetes/cloud-provider-aws, and in docs/guide/service/annotations.md of kubernetes-sigs/aws-load-balancer-controller.
type front struct {
	certificates string // ARNs of those that it ends TLS with; "" if it passes TLS on
	again        bool   // it makes connections over TLS to nginx
	speaksHTTP   bool   // it tells nginx by X-Forwarded-Proto what the client uses
	keys         []Key  // annotations that keep clients away, which the class does not do
}

// ofService is the beginning of the annotations, and ofAWS that of those that are about load balancers of AWS.
const (
	ofService = "service.beta.kubernetes.io/"
	ofAWS     = ofService + "aws-load-balancer-"
)

// readClass reads the class.
func (w *World) readClass() {
	w.readFront()
	if w.Config.ToHTTPS > 0 && (w.front.certificates == "" || w.front.again) { // its port may be one that clients do not reach
		w.Config.ToHTTPS = 0
		w.Config.Keys = append(slices.Clone(w.Config.Keys), Key{"http-snippet", restricting["http-snippet"], true})
	}
}

func (w *World) readFront() {
	if w.class.NGINX == nil {
		return
	}
	w.fold = w.class.NGINX.CaseFolding
	said := w.class.NGINX.Service
	ports := listOf(said[ofAWS+"ssl-ports"])
	if len(ports) == 0 || slices.ContainsFunc(ports, func(p string) bool { return slices.Contains([]string{"*", "443", "https"}, p) }) {
		w.front.certificates = strings.Join(listOf(said[ofAWS+"ssl-cert"]), ",")
	}
	protocol, kind := strings.ToLower(said[ofAWS+"backend-protocol"]), said[ofAWS+"type"]
	w.front.again = protocol == "ssl" || protocol == "https"
	w.front.speaksHTTP = strings.HasPrefix(protocol, "http") && kind == "" // a Classic Load Balancer
	guarded := len(w.class.Inbound)+len(w.class.SecurityGroups) > 0
	for _, name := range []string{ofService + "load-balancer-source-ranges", ofAWS + "security-groups"} {
		if said[name] != "" && !guarded {
			w.front.keys = append(w.front.keys, Key{Name: name,
				Message: "it keeps clients away: `inbound` or `securityGroups` of the class does so"})
		}
	}
	internal, err := strconv.ParseBool(said[ofAWS+"internal"])
	if err != nil && said[ofAWS+"internal"] != "" {
		internal = true // any value once meant it
	}
	if scheme := said[ofAWS+"scheme"]; w.class.Scheme == v1alpha1.SchemeInternetFacing &&
		(scheme == v1alpha1.SchemeInternal || scheme == "" && internal) {
		w.front.keys = append(w.front.keys, Key{Name: ofAWS + "scheme", Message: "the load balancer is internal: set `scheme: internal` " +
			"of the class"})
	}
}

// pass returns a request as it reaches nginx.
func (f front) pass(q Question) Question {
	if !q.Secure || f.certificates == "" || f.again {
		return q
	}
	q.Secure, q.Port, q.unwound = false, 80, true
	if f.speaksHTTP {
		headers := map[string][]string{"X-Forwarded-Proto": {"https"}}
		for name, values := range q.Header {
			if !strings.EqualFold(name, "X-Forwarded-Proto") {
				headers[name] = values
			}
		}
		q.Header = headers
	}
	return q
}

// folded returns a path of a host with expressions with the letters that the class compares.
func (w *World) folded(text string) string {
	switch w.fold {
	case v1alpha1.CaseFoldingOff:
		return text
	case v1alpha1.CaseFoldingLower:
		return inLowerCase(text)
	}
	return "(?i)" + text
}

// inLowerCase returns an expression with the letters of its texts and classes in lower case.
func inLowerCase(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		end := i + 1
		switch text[i] {
		case '\\':
			b.WriteString(text[i:min(i+2, len(text))])
			i++
			continue
		case '[':
			if length, posix := routing.ClassLength(text[i:]); length > 0 && !posix {
				end = i + length
			}
		}
		if part := text[i:end]; strings.Contains(part, `\`) {
			b.WriteString(part)
		} else {
			b.WriteString(strings.ToLower(part))
		}
		i = end - 1
	}
	return b.String()
}
