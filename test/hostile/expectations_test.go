package hostile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/test/request"
)

// This file is the language of what has to hold, one expectation a line:
//
//	GET http://a.example.com/x with User-Agent: curl -> alice/web:80
//	told bob/b HostTaken
//	not told alice/a HostTaken
//	presented 443 a.example.com -> alice/tls
//	targets bob/web:80 -> none
//	load balancers -> fairlead/alice/a/internal
//	address bob/b -> none
//	printed "/x\u001b"
//	not printed "\x1b"
//
// A request becomes what test/request says, or nothing where no load balancer has anything for its
// host. A quoted text is a Go string. An address is the ports that the status of an Ingress says it
// is reached on, which only an operator writes.

// An expectation is one line.
type expectation struct {
	line string
	// holds reports what is the case, and whether that is as it has to be.
	holds func(world) (got string, ok bool, err error)
}

func parse(line string) (expectation, error) {
	word, rest, _ := strings.Cut(line, " ")
	e := expectation{line: line}
	var err error
	switch word {
	case "not":
		var opposite expectation
		opposite, err = parse(rest)
		e.holds = func(w world) (string, bool, error) {
			got, ok, err := opposite.holds(w)
			return got, !ok, err
		}
	case "told":
		e.holds, err = isTold(rest)
	case "presented":
		e.holds, err = isPresented(rest)
	case "targets":
		e.holds, err = areTargets(rest)
	case "load":
		e.holds, err = areLoadBalancers(rest)
	case "address":
		e.holds, err = isAddressed(rest)
	case "printed":
		e.holds, err = isPrinted(rest)
	default:
		e.holds, err = isAnswered(line)
	}
	return e, err
}

func isAnswered(line string) (func(world) (string, bool, error), error) {
	r, err := request.Parse(line)
	return func(w world) (string, bool, error) {
		got, err := w.answer(r)
		return got, got == r.Want, err
	}, err
}

// isTold is that a diagnostic of a reason is about an object of a name, whatever its kind and
// field.
func isTold(text string) (func(world) (string, bool, error), error) {
	object, reason, found := strings.Cut(text, " ")
	if !found || strings.Contains(reason, " ") {
		return nil, errors.New("an object is told a reason")
	}
	return func(w world) (string, bool, error) {
		all, err := w.told()
		var about []string
		ok := false
		for _, d := range all {
			fields := strings.Fields(d) // severity, reason, kind, object, field
			if len(fields) < 4 || fields[3] != object {
				continue
			}
			about = append(about, fields[0]+" "+fields[1])
			ok = ok || fields[1] == reason
		}
		return listed(about), ok, err
	}, nil
}

func isPresented(text string) (func(world) (string, bool, error), error) {
	at, want, found := strings.Cut(text, " -> ")
	port, host, both := strings.Cut(at, " ")
	number, err := strconv.ParseInt(port, 10, 32)
	if !found || !both || err != nil {
		return nil, errors.New("Secrets are presented on a port for a host")
	}
	return func(w world) (string, bool, error) {
		got, err := w.presented(int32(number), host)
		return listed(got), listed(got) == want, err
	}, nil
}

func areTargets(text string) (func(world) (string, bool, error), error) {
	service, want, found := strings.Cut(text, " -> ")
	if !found {
		return nil, errors.New("a Service's port has targets")
	}
	return func(w world) (string, bool, error) {
		got, err := w.targets(service)
		return listed(got), listed(got) == want, err
	}, nil
}

func areLoadBalancers(text string) (func(world) (string, bool, error), error) {
	want, found := strings.CutPrefix(text, "balancers -> ")
	if !found {
		return nil, errors.New("there are load balancers, by key")
	}
	return func(w world) (string, bool, error) {
		got, err := w.loadBalancers()
		return listed(got), listed(got) == want, err
	}, nil
}

func isAddressed(text string) (func(world) (string, bool, error), error) {
	object, want, found := strings.Cut(text, " -> ")
	if !found {
		return nil, errors.New("an Ingress has an address, with ports")
	}
	return func(w world) (string, bool, error) {
		writing, ok := w.(interface {
			address(ingress string) ([]string, error)
		})
		if !ok {
			return "", false, errors.New("only an operator writes addresses: the case is about a running system")
		}
		got, err := writing.address(object)
		return listed(got), listed(got) == want, err
	}, nil
}

func isPrinted(quoted string) (func(world) (string, bool, error), error) {
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return nil, fmt.Errorf("reading a quoted text: %w", err)
	}
	return func(w world) (string, bool, error) {
		got, err := w.printed()
		return strconv.Quote(got), strings.Contains(got, text), err
	}, nil
}
