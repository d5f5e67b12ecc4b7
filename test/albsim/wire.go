package albsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"

	"fairlead.dev/fairlead/test/albsim/codec"
	"fairlead.dev/fairlead/test/albsim/refusal"
)

// This file is the wire: it finds out which call an HTTP request is, has it carried out, and
// answers in the protocol of its service.

// refuse returns a refusal in AWS's words.
func refuse(code, format string, args ...any) error { return refusal.New(code, format, args...) }

// Refusal is an answer that refuses a call, by AWS's code for why.
func Refusal(code, message string) error { return refuse(code, "%s", message) }

// A protocol is how a service writes calls and answers.
type protocol struct {
	// action names the call and returns what decodes its input.
	action func(r *http.Request, body []byte) (string, decoder, error)
	answer func(w http.ResponseWriter, action, requestID string, out any)
	refuse func(w http.ResponseWriter, requestID string, e *refusal.Error)
}

// A decoder fills the input of a call.
type decoder func(into any) error

// A service is an AWS API: its protocol and the calls that it knows.
type service struct {
	protocol protocol
	calls    map[string]handler
}

// A handler carries out one kind of call.
type handler func(s *Sim, in decoder) (any, error)

// on makes a handler of a function from the SDK's input to the SDK's output.
func on[In, Out any](do func(*Sim, *In) (*Out, error)) handler {
	action := actionOf(reflect.TypeFor[In]())
	return func(s *Sim, decode decoder) (any, error) {
		in := new(In)
		if err := decode(in); err != nil {
			return nil, err
		}
		if err := s.authorize(action, in); err != nil {
			return nil, err
		}
		if s.options.Refuse != nil {
			if err := s.options.Refuse(in); err != nil {
				return nil, err
			}
		}
		if err := s.unseen(action, in); err != nil {
			return nil, err
		}
		if err := s.dryRun(in); err != nil {
			return nil, err
		}
		if s.options.Misread != nil {
			s.options.Misread(in)
		}
		out, err := do(s, in)
		if err == nil && s.options.Amend != nil {
			err = s.options.Amend(in, out)
		}
		if err != nil {
			return nil, err
		}
		if err := s.settled(action, in, out); err != nil {
			return nil, err
		}
		return out, nil
	}
}

// services are known by the name that requests are signed for.
func services() map[string]service {
	return map[string]service{
		"elasticloadbalancing": {query("http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"), elbCalls()},
		"ec2":                  {ec2Query(), ec2Calls()},
		"acm":                  {jsonProtocol(), acmCalls()},
		"sts":                  {query("https://sts.amazonaws.com/doc/2011-06-15/"), stsCalls()},
		"iam":                  {query("https://iam.amazonaws.com/doc/2010-05-08/"), iamCalls()},
		"wafv2":                {jsonProtocol(), wafCalls()},
		"shield":               {jsonProtocol(), shieldCalls()},
		"tagging":              {jsonProtocol(), taggingCalls()},
	}
}

// ServeHTTP answers an API call.
func (s *Sim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	name := signedFor(r)
	service, ok := s.services[name]
	if !ok {
		http.Error(w, fmt.Sprintf("no such service: %q", name), http.StatusNotFound)
		return
	}
	id := s.nextRequestID()
	w.Header().Set("X-Amzn-Requestid", id)
	action, decode, err := service.protocol.action(r, body)
	var out any
	if err == nil {
		out, err = s.call(caller(r), name, action, service.calls[action], decode)
	}
	if errors.Is(err, errLost) {
		panic(http.ErrAbortHandler) // the connection ends without an answer
	}
	if err != nil {
		refused := &refusal.Error{Code: "InternalFailure", Message: err.Error(), Status: http.StatusInternalServerError}
		errors.As(err, &refused)
		service.protocol.refuse(w, id, refused)
		return
	}
	service.protocol.answer(w, action, id, out)
}

// signedFor is the service in the scope of a request's signature.
func signedFor(r *http.Request) string { return credential(r)[3] }

// caller is the access key that a request is signed with.
func caller(r *http.Request) string { return credential(r)[0] }

// credential are the parts of the credential of a request's signature: the access key, the date,
// the region, the service and what ends it.
func credential(r *http.Request) []string {
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	return append(strings.Split(scope, "/"), "", "", "", "")
}

// RoundTrip answers an API call without a network between, so that a Sim is a transport for the SDK
// that works where time is simulated too.
func (s *Sim) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	if s.options.Serial != nil {
		return s.roundTripSlowly(r)
	}
	return s.answerCall(r)
}

// answerCall answers an API call.
func (s *Sim) answerCall(r *http.Request) (answer *http.Response, err error) {
	defer func() {
		if v := recover(); v == http.ErrAbortHandler { //nolint:errorlint // it is compared as net/http does
			answer, err = nil, fmt.Errorf("reading the answer: %w", io.ErrUnexpectedEOF)
		} else if v != nil {
			panic(v)
		}
	}()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}

// formAction reads the action, and what it is about, of form values.
func formAction(by codec.Dialect) func(*http.Request, []byte) (string, decoder, error) {
	return func(_ *http.Request, body []byte) (string, decoder, error) {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return "", nil, refuse("MalformedQueryString", "%v", err)
		}
		return form.Get("Action"), func(into any) error { return by.Decode(form, into) }, nil
	}
}

// query is the protocol of form values and XML.
func query(namespace string) protocol {
	return protocol{
		action: formAction(codec.AsNamed),
		answer: func(w http.ResponseWriter, action, id string, out any) {
			w.Header().Set("Content-Type", "text/xml")
			fmt.Fprintf(w, "<%sResponse xmlns=%q><%sResult>", action, namespace, action)
			codec.AsNamed.Encode(w, out)
			fmt.Fprintf(w, "</%sResult><ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata></%sResponse>", action, id, action)
		},
		refuse: func(w http.ResponseWriter, id string, e *refusal.Error) {
			w.Header().Set("Content-Type", "text/xml")
			w.WriteHeader(e.Status)
			fmt.Fprintf(w, "<ErrorResponse xmlns=%q><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>%s</RequestId></ErrorResponse>",
				namespace, codec.Escaped(e.Code), codec.Escaped(e.Message), id)
		},
	}
}

// jsonProtocol is the protocol of a target header and JSON.
func jsonProtocol() protocol {
	return protocol{
		action: func(r *http.Request, body []byte) (string, decoder, error) {
			_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
			return action, func(into any) error {
				if err := json.Unmarshal(body, into); err != nil {
					return refuse("SerializationException", "%v", err)
				}
				return nil
			}, nil
		},
		answer: func(w http.ResponseWriter, _, _ string, out any) {
			w.Header().Set("Content-Type", "application/x-amz-json-1.1")
			codec.EncodeJSON(w, out)
		},
		refuse: func(w http.ResponseWriter, _ string, e *refusal.Error) {
			w.Header().Set("Content-Type", "application/x-amz-json-1.1")
			w.WriteHeader(e.Status)
			codec.EncodeJSON(w, map[string]string{"__type": e.Code, "message": e.Message})
		},
	}
}
