package nginx

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	networking "k8s.io/api/networking/v1"
)

// This file reads single annotations (internal/ingress/annotations/parser).

const prefix = "nginx.ingress.kubernetes.io/"

// A state is what became of the value of an annotation.
type state int

const (
	absent  state = iota
	empty         // there, and read as nothing
	invalid       // refused by its validator
	given
)

// A check reports whether a value is let through; without one, any is.
type check func(string) bool

// The characters that validators let through (parser/validators.go).
var (
	plain     = pattern(`^[/\-._~a-zA-Z0-9/:]*$`)
	spaced    = pattern(`^[/\-._~a-zA-Z0-9/: ]*$`)
	listed    = pattern(`^[/\-._~a-zA-Z0-9/:, ]*$`)
	address   = pattern(`^[\-._~a-zA-Z0-9/:,?&=]*$`)
	variable  = pattern(`^[\-._~a-zA-Z0-9/:, ?&=$]*$`)
	captures  = pattern(`^/?[\-._~a-zA-Z0-9/:$]*$`)
	patterned = pattern(`^[/\-._~a-zA-Z0-9/:^$\[\](){}*+?|&=\\]*$`)
	names     = pattern(`^[A-Za-z0-9\-_, ]*$`)
	sized     = pattern(`^(?i)\d+[bkmg]?$`)
	variables = pattern(`^[A-Za-z0-9\-_${}]*$`)
	label     = pattern(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
)

func pattern(expression string) check {
	compiled := regexp.MustCompile(expression)
	return func(value string) bool { return compiled.MatchString(value) && !strings.ContainsAny(value, "\r\n") }
}

// unspaced checks a value without its spaces.
func (c check) unspaced() check {
	return func(value string) bool { return c(strings.ReplaceAll(value, " ", "")) }
}

func isBool(value string) bool {
	_, err := strconv.ParseBool(value)
	return err == nil
}

func isInt(value string) bool {
	_, err := strconv.Atoi(value)
	return err == nil
}

func oneOf(fold bool, options ...string) check {
	return func(value string) bool {
		value = strings.TrimSpace(value)
		if fold {
			value = strings.ToLower(value)
		}
		return slices.Contains(options, value)
	}
}

func serverNames(value string) bool {
	for _, name := range strings.Split(value, ",") {
		if !serverName(name) {
			return false
		}
	}
	return true
}

func serverName(value string) bool { return patterned(strings.TrimSpace(value)) }

func isRanges(value string) bool {
	_, err := ranges(value)
	return err == nil
}

// ranges reads addresses and networks, as net/ipnet.go does: sorted, each once, networks masked.
func ranges(value string) ([]string, error) {
	var found []string
	for _, one := range strings.Split(value, ",") {
		one = strings.TrimSpace(one)
		if network, err := netip.ParsePrefix(one); err == nil {
			found = append(found, network.Masked().String())
		} else if single, err := netip.ParseAddr(one); err == nil && single.Zone() == "" {
			found = append(found, single.String())
		} else {
			return nil, fmt.Errorf("%q is neither an address nor a network", one)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// annotations of one Ingress.
type values struct{ ingress *networking.Ingress }

// text is the value under the first of the names that has one. Lines are trimmed.
func (v values) text(valid check, keys ...string) (string, state) {
	_, there := v.ingress.Annotations[prefix+keys[0]]
	value := ""
	for _, key := range keys {
		if value = v.ingress.Annotations[prefix+key]; value != "" {
			break
		}
	}
	if value == "" {
		if there {
			return "", empty
		}
		return "", absent
	}
	if valid != nil && !valid(value) {
		return "", invalid
	}
	lines := strings.Split(value, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if value = strings.Join(lines, "\n"); value == "" {
		return "", empty
	}
	return value, given
}

// or is a text, or what is meant without a good one.
func (v values) or(otherwise string, valid check, key string) string {
	if value, state := v.text(valid, key); state == given {
		return value
	}
	return otherwise
}

func (v values) flag(key string) (value bool, state state) {
	text, state := v.text(isBool, key)
	value, _ = strconv.ParseBool(text)
	return value, state
}

func (v values) flagOr(otherwise bool, key string) bool {
	if value, state := v.flag(key); state == given {
		return value
	}
	return otherwise
}

func (v values) number(key string) (value int, state state) {
	text, state := v.text(isInt, key)
	value, _ = strconv.Atoi(text)
	return value, state
}

func (v values) numberOr(otherwise int, key string) int {
	if value, state := v.number(key); state == given {
		return value
	}
	return otherwise
}
