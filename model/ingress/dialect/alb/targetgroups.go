package alb

import (
	"fmt"
	"strings"

	"fairlead.dev/fairlead/model/diag"
)

// This file finds the ARN of a target group by its name, among those that the class allows. No two target
// groups of an account and region have one name
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html), so the
// class, which has to allow the target group anyway, can say which one a name means, and no call has to.

// allowed are the target groups of others that a class allows, by ARN, in which * stands for any text.
type allowed []string

// arnOf returns the ARN of the target group of a name.
func (a allowed) arnOf(name string) (string, error) {
	whole := ""
	for _, arn := range a {
		switch {
		case name == "" || strings.Contains(arn, "*") || nameIn(arn) != name:
		case whole != "" && whole != arn:
			return "", fmt.Errorf("`allowedTargetGroups` of the class has two target groups %s: write "+
				"targetGroupARN in place of the name", diag.Quote(name))
		default:
			whole = arn
		}
	}
	if whole == "" {
		return "", fmt.Errorf("the class does not say which target group %s is: ask its owner to add its ARN, in full and "+
			"without a *, to `allowedTargetGroups`, or write targetGroupARN in place of the name", diag.Quote(name))
	}
	return whole, nil
}

// nameIn returns the name of a target group in its ARN, arn:aws:elasticloadbalancing:REGION:ACCOUNT:targetgroup/NAME/ID.
func nameIn(arn string) string {
	parts := strings.Split(arn, "/")
	if len(parts) != 3 || !strings.HasSuffix(parts[0], ":targetgroup") {
		return ""
	}
	return parts[1]
}
