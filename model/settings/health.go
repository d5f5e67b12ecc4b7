package settings

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fairlead/api/v1alpha1"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/routing"
)

// This file makes health checks from the values of Ingresses, the class and the table, in this
// order.

// trafficPort means the port that serves requests.
const trafficPort = "traffic-port"

// HealthCheck returns the health check of targets with this protocol and version of HTTP, from
// annotations under a class. Codes of another version are ignored.
func HealthCheck(said map[string]string, c *v1alpha1.LoadBalancerClassSpec,
	protocol routing.Protocol, version routing.Version) routing.HealthCheck {
	var v Values
	for i := range Table {
		s := &Table[i]
		if !s.ofHealthCheck() {
			continue
		}
		byClass, _ := s.ofClass(c)
		values := []string{said[s.Annotation], byClass, s.defaultFor(protocol, version)}
		if s.Annotation == HealthCodes {
			values = slices.DeleteFunc(values, func(codes string) bool {
				return !AreCodesOf(version, codes)
			})
		}
		_ = s.put(&v, first(values...)) // every value was checked
	}
	return v.health
}

// DefaultHealthCheck returns the health check of targets if neither an Ingress nor the class has settings for it.
func DefaultHealthCheck(protocol routing.Protocol, version routing.Version) routing.HealthCheck {
	return HealthCheck(nil, &v1alpha1.LoadBalancerClassSpec{}, protocol, version)
}

// CheckHealth refuses health checks with a timeout that is not shorter than the interval.
func CheckHealth(said map[string]string, c *v1alpha1.LoadBalancerClassSpec) error {
	h := HealthCheck(said, c, "", "")
	if h.TimeoutSeconds >= h.IntervalSeconds {
		return fmt.Errorf("health checks every %d seconds cannot wait %d seconds for an answer: the "+
			"timeout has to be shorter", h.IntervalSeconds, h.TimeoutSeconds)
	}
	return nil
}

// defaultFor returns the default of a field of the health check. The gRPC health check calls a
// method that does not exist; UNIMPLEMENTED (12) counts as healthy.
func (s *Setting) defaultFor(protocol routing.Protocol, version routing.Version) string {
	switch {
	case s.Annotation == HealthProtocol && protocol != "":
		return string(protocol)
	case s.Annotation == HealthPath && version == routing.VersionGRPC:
		return "/AWS.ALB/healthcheck"
	case s.Annotation == HealthCodes && version == routing.VersionGRPC:
		return "12"
	}
	return s.Default
}

// AreCodesOf reports whether a list has codes of a version. The codes of gRPC are below all HTTP
// statuses.
func AreCodesOf(version routing.Version, codes string) bool {
	return (version == routing.VersionGRPC) == (checkRanges(codes, 0, 99) == nil)
}

// healthPath has the longest path that AWS accepts: Elastic Load Balancing API, CreateTargetGroup,
// HealthCheckPath.
var healthPath = Type{
	words: "path",
	Bound: Bound{
		Longest: 1024, Pattern: regexp.MustCompile(`^/[!-~]*$`),
		Unlike: "it is not a path: it has to start with a slash and hold neither spaces nor other " +
			"than ASCII characters",
	},
}

// healthPort is the type of a number, the name of a port of a Service, or traffic-port. A class has
// no Service, so its field is a number or traffic-port.
var healthPort = Type{
	words: "port, name of a port of the Service, or `traffic-port`",
	Bound: Bound{Longest: validation.DNS1123LabelMaxLength}, check: checkHealthPort,
}

// successCodes is the type of HTTP statuses, or codes of gRPC.
var successCodes = Type{
	words: "list of statuses and ranges from 200 to 499; for gRPC, from 0 to 99", check: checkCodes,
	Bound: Bound{Longest: 255,
		Pattern: regexp.MustCompile(
			`^([234][0-9]{2}(-[234][0-9]{2})?(,[234][0-9]{2}(-[234][0-9]{2})?)*|[0-9]{1,2}(-[0-9]{1,2})?(,[0-9]{1,2}(-[0-9]{1,2})?)*)$`),
		Unlike: "it is not a list of statuses and ranges of them"},
}

func checkHealthPort(port string) error {
	if _, err := strconv.Atoi(port); err == nil {
		_, err = integer(port, 1, 65535)
		return err
	}
	return checkLabel(port)
}

// NamesPort reports whether a port of health checks is the name of a port of the Service.
func NamesPort(port string) bool {
	_, err := strconv.Atoi(port)
	return err != nil && port != trafficPort
}

// checkCodes accepts codes of HTTP and of gRPC.
func checkCodes(codes string) error {
	if checkRanges(codes, 0, 99) == nil {
		return nil
	}
	return checkRanges(codes, 200, 499)
}

// checkRanges accepts a list of codes and ranges of them.
func checkRanges(list string, least, most int) error {
	for item := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(item, "-")
		if !ranged {
			to = from
		}
		low, err := integer(from, least, most)
		high, err2 := integer(to, low, most)
		if err := errors.Join(err, err2); err != nil || high < low {
			return fmt.Errorf("%s is neither a status from %d to %d nor a range of them", diag.Quote(item),
				least, most)
		}
	}
	return nil
}

func digits(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
