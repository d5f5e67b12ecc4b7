package accesslog

import (
	"bytes"
	"errors"
	"fmt"
)

// This file divides a line into fields.

// A Field is one of the fields that AWS documents, by its place in a line.
type Field int

// The fields, in their order.
const (
	Type Field = iota
	Time
	LoadBalancer
	Client
	Target
	RequestProcessingTime
	TargetProcessingTime
	ResponseProcessingTime
	Status
	TargetStatus
	ReceivedBytes
	SentBytes
	RequestLine
	UserAgent
	Cipher
	TLSProtocol
	TargetGroup
	TraceID
	DomainName
	CertificateARN
	RulePriority
	RequestCreationTime
	ActionsExecuted
	RedirectURL
	ErrorReason
	TargetList
	TargetStatusList
	Classification
	ClassificationReason
	ConnectionTraceID
	TransformedHost
	TransformedURI
	TransformStatus

	// Fields is the number of fields.
	Fields
)

// least is the number of fields that a line must have: those up to ActionsExecuted. A line with
// fewer was cut off. The fields behind these were added to the format over the years.
const least = int(ActionsExecuted) + 1

// names are the names of the fields in the documentation.
var names = [Fields]string{
	"type", "time", "elb", "client:port", "target:port", "request_processing_time",
	"target_processing_time", "response_processing_time", "elb_status_code", "target_status_code",
	"received_bytes", "sent_bytes", "request", "user_agent", "ssl_cipher", "ssl_protocol",
	"target_group_arn", "trace_id", "domain_name", "chosen_cert_arn", "matched_rule_priority",
	"request_creation_time", "actions_executed", "redirect_url", "error_reason", "target:port_list",
	"target_status_code_list", "classification", "classification_reason", "conn_trace_id",
	"transformed_host", "transformed_uri", "request_transform_status",
}

// String returns the name of the field in the documentation.
func (f Field) String() string {
	if f < 0 || f >= Fields {
		return fmt.Sprintf("field %d", int(f))
	}
	return names[f]
}

// A Line has the fields of a line. They are parts of the parsed text, without the quotes around
// them, and with their escapes.
type Line struct {
	fields [Fields][]byte
}

// Parse divides a line into its fields. The line is valid until the text is changed.
func (l *Line) Parse(text []byte) error {
	text = bytes.TrimSuffix(text, []byte("\r"))
	l.fields = [Fields][]byte{}
	found := 0
	for ; found < int(Fields) && len(text) > 0; found++ {
		value, rest, err := next(text)
		if err != nil {
			return fmt.Errorf("%s: %w", Field(found), err)
		}
		l.fields[found], text = value, rest
	}
	if found < least {
		return fmt.Errorf("number of fields: %d, fewer than the %d up to %s", found, least,
			ActionsExecuted)
	}
	return l.check()
}

// check returns an error if the line cannot be one of an Application Load Balancer.
func (l *Line) check() error {
	switch p := l.fields[RulePriority]; {
	case len(l.fields[Type]) == 0 || len(l.fields[LoadBalancer]) == 0:
		return errors.New("no load balancer")
	case string(p) != "-" && string(p) != "-1" && number(p) < 0:
		return fmt.Errorf("%s: %q is no priority", RulePriority, p[:min(len(p), mostShown)])
	}
	for _, f := range []Field{Status, TargetStatus} {
		// 000 stands in lines of requests without an answer, so the least is not 100.
		if s := l.fields[f]; string(s) != "-" && (len(s) > mostStatusDigits || number(s) < 0) {
			return fmt.Errorf("%s: %q is no status", f, s[:min(len(s), mostShown)])
		}
	}
	if _, err := l.At(); err != nil {
		return err
	}
	if _, err := l.Request(); err != nil && l.Priority() >= 0 {
		return fmt.Errorf("%w, although a rule has decided", err)
	}
	return nil
}

var errQuote = errors.New("the closing quote is missing")

// next returns the first field of a text, and the rest after the space that ends it.
//
// A quote ends a field in quotes only if a space or the end of the line follows. AWS writes quotes
// of clients as \x22.
func next(text []byte) (value, rest []byte, err error) {
	if text[0] != '"' {
		if at := bytes.IndexByte(text, ' '); at >= 0 {
			return text[:at], text[at+1:], nil
		}
		return text, nil, nil
	}
	for at := 1; ; at++ {
		quote := bytes.IndexByte(text[at:], '"')
		if quote < 0 {
			return nil, nil, errQuote
		}
		at += quote
		switch {
		case at+1 == len(text):
			return text[1:at], nil, nil
		case text[at+1] == ' ':
			return text[1:at], text[at+2:], nil
		}
	}
}

// Raw returns a field with its escapes; empty if the line does not have it.
func (l *Line) Raw(f Field) []byte { return l.fields[f] }

// Text returns a field without escapes. The value "-" means none, and is returned as "".
func (l *Line) Text(f Field) string {
	raw := l.fields[f]
	if len(raw) == 1 && raw[0] == '-' {
		return ""
	}
	return string(Unescape(raw))
}

// Priority returns the priority of the rule that decided, and 0 for the default action. It is
// negative if no rule decided, as the rules could not be evaluated (-1) or the request failed
// before (-).
func (l *Line) Priority() int { return number(l.fields[RulePriority]) }

// StatusCode returns a status in a field, or 0 if there is none.
func (l *Line) StatusCode(f Field) int { return max(number(l.fields[f]), 0) }

// mostShown is the most bytes of a field in errors.
const mostShown = 40

// mostStatusDigits is the length of a status.
const mostStatusDigits = 3

// mostDigits bounds numbers. A priority is at most 50000.
const mostDigits = 9

// number returns a number without sign, or -1 if it is none.
func number(text []byte) int {
	if len(text) == 0 || len(text) > mostDigits {
		return -1
	}
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	return n
}
