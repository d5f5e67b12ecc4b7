package albsim

import (
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// This file is the attributes of load balancers, listeners and target groups. AWS has a type for
// each, and they are alike.

type attribute interface {
	elb.LoadBalancerAttribute | elb.ListenerAttribute | elb.TargetGroupAttribute
}

// listAttributes are attributes as AWS describes them.
func listAttributes[A attribute](from map[string]string) []A {
	var out []A
	for _, key := range sortedKeys(from) {
		out = append(out, A(elb.LoadBalancerAttribute{Key: aws.String(key), Value: aws.String(from[key])}))
	}
	return out
}

// changeAttributes changes all that are asked for, or none.
func changeAttributes[A attribute](have map[string]string, asked []A, known map[string]string, kind string) error {
	changes := map[string]string{}
	for _, a := range asked {
		change := elb.LoadBalancerAttribute(a)
		changes[aws.ToString(change.Key)] = aws.ToString(change.Value)
	}
	if err := checkAttributes(changes, known, kind); err != nil {
		return err
	}
	maps.Copy(have, changes)
	return nil
}

// checkAttributes refuses attributes that do not exist, or too many at once.
func checkAttributes(changes, known map[string]string, kind string) error {
	if len(changes) > 20 {
		return refuse("ValidationError", "1 validation error detected: Value at 'attributes' failed to satisfy constraint: Member must have length less than or equal to 20")
	}
	for _, key := range sortedKeys(changes) {
		usual, ok := known[key]
		value := changes[key]
		switch {
		case !ok:
			return refuse("ValidationError", "%s attribute key '%s' is not known", kind, key)
		case (usual == "true" || usual == "false") && value != "true" && value != "false":
			return refuse("ValidationError", "%s attribute value '%s' for key '%s' is not valid", kind, value, key)
		}
	}
	return nil
}

// checkCombination refuses attributes of a target group that exclude each other.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-target-group-attributes.html
func checkCombination(a map[string]string, version string) error {
	algorithm, cookie := a["load_balancing.algorithm.type"], a["stickiness.app_cookie.cookie_name"]
	sticky := a["stickiness.enabled"] == "true"
	why := ""
	switch {
	case a["slow_start.duration_seconds"] != "0" && algorithm != "round_robin":
		why = "Slow start is only supported with the round robin algorithm"
	case a["load_balancing.algorithm.anomaly_mitigation"] == "on" && algorithm != "weighted_random":
		why = "Anomaly mitigation is only supported with the weighted random algorithm"
	case sticky && a["stickiness.type"] == "app_cookie" && cookie == "":
		why = "A cookie name is needed for application cookies"
	case strings.HasPrefix(cookie, "AWSALB"):
		why = "The cookie names AWSALB, AWSALBAPP and AWSALBTG are reserved"
	case sticky && a["load_balancing.cross_zone.enabled"] == "false":
		why = "Stickiness is not supported when cross-zone load balancing is off"
	case a["waf.http2.traffic_inspection_behavior"] != "inspect_immediately" && version != "HTTP2":
		why = "'waf.http2.traffic_inspection_behavior' needs the protocol version HTTP2"
	case a["routing.http2.rst_stream_error_forwarding.enabled"] == "true" && version == "HTTP1":
		why = "'routing.http2.rst_stream_error_forwarding.enabled' needs the protocol version HTTP2 or GRPC"
	}
	if why != "" {
		return refuse("InvalidConfigurationRequest", "%s", why)
	}
	return nil
}

// checkLogs refuses logs in a bucket that does not let the load balancer write.
func (s *Sim) checkLogs(a map[string]string) error {
	for _, logs := range []string{"access_logs", "connection_logs", "health_check_logs"} {
		if bucket := a[logs+".s3.bucket"]; a[logs+".s3.enabled"] == "true" && !s.buckets3[bucket] {
			return refuse("InvalidConfigurationRequest", "Access Denied for bucket: %s. Please check S3bucket permission", bucket)
		}
	}
	return nil
}

// AddBucket makes a bucket of S3 that load balancers may write logs into.
func (s *Sim) AddBucket(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buckets3 == nil {
		s.buckets3 = map[string]bool{}
	}
	s.buckets3[name] = true
}
