package alb

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/model/diag"
)

// This file knows the target groups that the controller makes for an Ingress. It finds the ARN of another one by its
// name, among those that the class allows. No two target
// groups of an account and region have one name
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html), so the
// class, which has to allow the target group anyway, can say which one a name means, and no call has to.

// allowed are the target groups of others that a class allows, by ARN, in which * stands for any text.
type allowed []string

// arnOf returns the ARN of the target group of a name.
func (a allowed) arnOf(name string) (string, error) {
	switch found := ARNsOf(a, name); len(found) {
	case 0:
		return "", fmt.Errorf("the class does not say which target group %s is: ask its owner to add its ARN, in full and "+
			"without a *, to `allowedTargetGroups`, or write targetGroupARN in place of the name", diag.Quote(name))
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("`allowedTargetGroups` of the class has two target groups %s: write targetGroupARN in "+
		"place of the name", diag.Quote(name))
}

// ARNsOf returns those of some ARNs that are of target groups of a name, without globs.
func ARNsOf(arns []string, name string) (out []string) {
	for _, arn := range arns {
		if name != "" && !strings.Contains(arn, "*") && nameIn(arn) == name && !slices.Contains(out, arn) {
			out = append(out, arn)
		}
	}
	return out
}

// nameIn returns the name of a target group in its ARN, arn:aws:elasticloadbalancing:REGION:ACCOUNT:targetgroup/NAME/ID.
func nameIn(arn string) string {
	parts := strings.Split(arn, "/")
	if len(parts) != 3 || !strings.HasSuffix(parts[0], ":targetgroup") {
		return ""
	}
	return parts[1]
}

// TargetGroupsOf returns the target groups that the controller makes for an Ingress, as it names them in its tags: one
// for each Service and port, as the Ingress writes it (buildTargetGroupResourceID in model_build_target_group.go).
func TargetGroupsOf(ing *networkingv1.Ingress) []string {
	made := map[string]bool{}
	add := func(service, port string) {
		made[fmt.Sprintf("%s/%s-%s:%s", ing.Namespace, ing.Name, service, port)] = true
	}
	backend := func(b *networkingv1.IngressBackend) {
		switch {
		case b == nil || b.Service == nil:
		case b.Service.Port.Name == UseAnnotation:
			var a action
			if readJSON(ing.Annotations[Prefix+"actions."+b.Service.Name], &a) != nil || a.ForwardConfig == nil {
				return
			}
			for _, g := range a.ForwardConfig.TargetGroups {
				if g.ServiceName != nil && g.ServicePort != nil {
					add(*g.ServiceName, g.ServicePort.String())
				}
			}
		case b.Service.Port.Name != "":
			add(b.Service.Name, b.Service.Port.Name)
		default:
			add(b.Service.Name, strconv.Itoa(int(b.Service.Port.Number)))
		}
	}
	backend(ing.Spec.DefaultBackend)
	for _, rule := range ing.Spec.Rules {
		for i := 0; rule.HTTP != nil && i < len(rule.HTTP.Paths); i++ {
			backend(&rule.HTTP.Paths[i].Backend)
		}
	}
	return slices.Sorted(maps.Keys(made))
}
