package incumbent

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/fairlead/model/routing"
)

// This file is the load balancer: which requests a rule takes, which rules AWS refuses, and answers.
// Sources: the guide, https://docs.aws.amazon.com/elasticloadbalancing/latest/application/rule-condition-types.html,
// and the comments of types.go in aws-sdk-go-v2/service/elasticloadbalancingv2.

type matcher func(routing.Request) bool

func (r rule) matches(request routing.Request) bool {
	for _, c := range r.conditions {
		if !c.match(request) {
			return false
		}
	}
	return true
}

// matcherOf returns the matcher of a condition: one value is enough. A regular expression is searched
// for, with its case, in a host in lower case, a path or a header: AWS documents neither anchors nor case.
// One that Go does not know matches nothing here, and is refused.
func matcherOf(c condition) matcher {
	texts := func(fold bool, of func(routing.Request) []string) matcher {
		var regexes []*regexp.Regexp
		for _, raw := range c.regexes {
			if re, err := regexp.Compile(raw); err == nil {
				regexes = append(regexes, re)
			}
		}
		return func(r routing.Request) bool {
			return slices.ContainsFunc(of(r), func(s string) bool {
				return slices.ContainsFunc(c.globs, func(g string) bool { return glob(g, s, fold, false) }) ||
					slices.ContainsFunc(regexes, func(re *regexp.Regexp) bool { return re.MatchString(s) })
			})
		}
	}
	switch c.Field {
	case "host-header": // ignores case; * spans labels
		return texts(true, func(r routing.Request) []string { return []string{hostname(r.Host)} })
	case "path-pattern": // looks at case; the query has no part in it
		return texts(false, func(r routing.Request) []string { return []string{r.Path} })
	case "http-header": // values ignore case, and so does the name; each value of the request counts
		return texts(true, func(r routing.Request) []string {
			var all []string
			for name, values := range r.Header {
				if strings.EqualFold(name, c.name) {
					all = append(all, values...)
				}
			}
			return all
		})
	case "http-request-method": // looks at case, without wildcards
		return func(r routing.Request) bool { return slices.Contains(c.globs, r.Method) }
	case "source-ip": // the address of the connection, whatever X-Forwarded-For says
		return func(r routing.Request) bool {
			return slices.ContainsFunc(c.globs, func(cidr string) bool {
				block, err := netip.ParsePrefix(cidr)
				return err == nil && block.Contains(r.Source)
			})
		}
	}
	return func(r routing.Request) bool { // query-string ignores case; without a key, any key will do
		return slices.ContainsFunc(c.pairs, func(p pair) bool {
			for key, values := range r.Query {
				if (p.Key == nil || glob(*p.Key, key, true, true)) &&
					slices.ContainsFunc(values, func(v string) bool { return glob(p.Value, v, true, true) }) {
					return true
				}
			}
			return false
		})
	}
}

// hostname returns a host in lower case and without its port. Whether AWS looks at the port is not said.
func hostname(host string) string {
	if colon := strings.LastIndex(host, ":"); colon >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:colon]
	}
	return strings.ToLower(host)
}

// glob says whether a pattern takes the whole text: * any characters, ? one. A backslash escapes them
// in query strings alone.
func glob(pattern, text string, fold, escapes bool) bool {
	if fold {
		pattern, text = strings.ToLower(pattern), strings.ToLower(text)
	}
	// at has, for each length of the text so far, whether the pattern so far takes it.
	at := make([]bool, len(text)+1)
	at[0] = true
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		literal := escapes && c == '\\' && i+1 < len(pattern)
		if literal {
			i++
			c = pattern[i]
		}
		if c == '*' && !literal {
			for j := range text {
				at[j+1] = at[j+1] || at[j]
			}
			continue
		}
		for j := len(text); j > 0; j-- {
			at[j] = at[j-1] && (text[j-1] == c || c == '?' && !literal)
		}
		at[0] = false
	}
	return at[len(text)]
}

var (
	hostValue   = regexp.MustCompile(`^[A-Za-z0-9_.*?-]*\.[A-Za-z]+$`)
	pathValue   = regexp.MustCompile(`^[A-Za-z0-9_.$/~"'@:+&*?-]+$`)
	methodValue = regexp.MustCompile(`^[A-Z_-]{1,40}$`)
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,40}$")
	unsupported = regexp.MustCompile(`\(\?[^:]|\\[pP]|\[\[:|\\[QCzA]`)
)

// refusal returns why AWS refuses a rule: the guide's quotas of 5 values and 5 wildcards of a rule, its
// characters and lengths, and the fields of actions. The quota of rules can be raised and has no part here.
func (r rule) refusal(port int32, https bool) string {
	values, wildcards, fields := 0, 0, map[string]int{}
	for _, c := range r.conditions {
		fields[c.Field]++
		all := slices.Concat(c.globs, c.regexes)
		for _, p := range c.pairs {
			all = append(all, p.Value)
		}
		for _, v := range all {
			values++
			if !slices.Contains(c.regexes, v) {
				wildcards += strings.Count(v, "*") + strings.Count(v, "?")
			}
			if v == "" || len(v) > 128 || !c.allowed(v) {
				return fmt.Sprintf("value %q of %s", v, c.Field)
			}
		}
		if c.Field == "http-header" && (!headerName.MatchString(c.name) || strings.EqualFold(c.name, "host")) {
			return "header " + c.name
		}
	}
	for _, t := range r.transforms {
		fields[t.Type]++
		re := t.rewrites()[0]
		if _, err := regexp.Compile(re.Regex); err != nil || unsupported.MatchString(re.Regex) || len(t.rewrites()) > 1 {
			return "the rewrites of " + t.Type
		}
	}
	for _, once := range []string{"http-request-method", "source-ip", "url-rewrite", "host-header-rewrite"} {
		if fields[once] > 1 {
			return "several of " + once
		}
	}
	if values > 5 || wildcards > 5 {
		return fmt.Sprintf("%d values and %d wildcards", values, wildcards)
	}
	if r.refused != "" {
		return r.refused
	}
	return r.action.refusal(port, https)
}

func (c condition) allowed(v string) bool {
	if slices.Contains(c.regexes, v) {
		_, err := regexp.Compile(v)
		return err == nil && !unsupported.MatchString(v)
	}
	switch c.Field {
	case "host-header":
		return hostValue.MatchString(v)
	case "path-pattern":
		return pathValue.MatchString(v)
	case "http-request-method":
		return methodValue.MatchString(v)
	case "source-ip":
		_, err := netip.ParsePrefix(v)
		return err == nil && v != "255.255.255.255/32"
	}
	return true
}

func (a action) refusal(port int32, https bool) string {
	switch a.Type {
	case "fixed-response":
		f := a.FixedResponseConfig
		types := []string{"", "text/plain", "text/css", "text/html", "application/javascript", "application/json"}
		if !regexp.MustCompile(`^[245]\d\d$`).MatchString(f.StatusCode) || len(text(f.MessageBody)) > 1024 ||
			!slices.Contains(types, text(f.ContentType)) {
			return "the fixed response"
		}
	case "redirect":
		to := a.RedirectConfig
		protocol, number, host, path, _ := to.parts(port, https)
		same := protocol == to.schemeOf(https) && number == strconv.Itoa(int(port)) && host == "#{host}" && path == "/#{path}"
		n, err := strconv.Atoi(number)
		switch {
		case to.StatusCode != "HTTP_301" && to.StatusCode != "HTTP_302",
			!slices.Contains([]string{"", "HTTP", "HTTPS", "#{protocol}"}, text(to.Protocol)),
			https && protocol == "http", err != nil || n < 1 || n > 65535, !strings.HasPrefix(path, "/"),
			len(host) > 128, len(path) > 128, len(text(to.Query)) > 128:
			return "the redirect"
		case same:
			return "a redirect to itself"
		}
	case "forward":
		groups := a.ForwardConfig.TargetGroups
		if len(groups) < 1 || len(groups) > 5 {
			return fmt.Sprintf("%d target groups", len(groups))
		}
		for _, t := range groups {
			if t.Weight != nil && (*t.Weight < 0 || *t.Weight > 999) {
				return "a weight"
			}
		}
		sticky := a.ForwardConfig.TargetGroupStickinessConfig
		if sticky != nil && sticky.Enabled != nil && *sticky.Enabled &&
			(sticky.DurationSeconds == nil || *sticky.DurationSeconds < 1 || *sticky.DurationSeconds > 604800) {
			return "the duration of stickiness"
		}
	}
	return ""
}

func (redirect) schemeOf(https bool) string {
	if https {
		return "https"
	}
	return "http"
}

// parts returns the parts of a redirect. Those that are not named stay as they are.
func (to redirect) parts(port int32, https bool) (protocol, number, host, path, query string) {
	or := func(part *string, otherwise string) string {
		if part == nil {
			return otherwise
		}
		return *part
	}
	protocol, number = strings.ToLower(or(to.Protocol, "#{protocol}")), or(to.Port, "#{port}")
	if protocol == "#{protocol}" {
		protocol = to.schemeOf(https)
	}
	if number == "#{port}" {
		number = strconv.Itoa(int(port))
	}
	return protocol, number, or(to.Host, "#{host}"), or(to.Path, "/#{path}"), or(to.Query, "#{query}")
}

// render writes the answer of a rule of a listener.
func (r rule) render(port int32, https bool) Answer {
	said := r.auth
	switch a := r.action; a.Type {
	case "fixed-response":
		f := a.FixedResponseConfig
		kind := text(f.ContentType)
		if kind == "" {
			kind = "-"
		}
		if f.bare || strings.HasPrefix(f.StatusCode, "404") && text(f.MessageBody) == "" {
			return Answer(said + f.StatusCode)
		}
		return Answer(fmt.Sprintf("%sfixed %s %s %q", said, f.StatusCode, kind, text(f.MessageBody)))
	case "redirect":
		protocol, number, host, path, query := a.RedirectConfig.parts(port, https)
		said += strings.TrimPrefix(a.RedirectConfig.StatusCode, "HTTP_") + " " + protocol + "://" + host + ":" + number + path
		if query != "" {
			said += "?" + query
		}
		return Answer(said)
	}
	groups := r.action.ForwardConfig.TargetGroups
	names := make([]string, len(groups))
	for i, t := range groups {
		names[i] = t.name
		if t.Weight != nil && (len(groups) > 1 || *t.Weight == 0) {
			names[i] += "*" + strconv.Itoa(int(*t.Weight))
		}
	}
	slices.Sort(names)
	said += "forward " + strings.Join(names, " ")
	sticky := r.action.ForwardConfig.TargetGroupStickinessConfig
	if sticky != nil && sticky.Enabled != nil && *sticky.Enabled && sticky.DurationSeconds != nil && len(groups) > 1 {
		said += fmt.Sprintf(" sticky %ds", *sticky.DurationSeconds)
	}
	for _, t := range r.transforms {
		re, of := t.rewrites()[0], "url"
		if t.Type == "host-header-rewrite" {
			of = "host"
		}
		said += fmt.Sprintf(", %s %q to %q", of, re.Regex, re.Replace)
	}
	return Answer(said)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
