package albsim

import (
	"maps"

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
