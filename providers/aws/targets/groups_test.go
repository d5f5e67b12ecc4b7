package targets

import (
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/providers/aws/look"
	"fairlead.dev/fairlead/test/classtags"
)

// AWS takes 50 tags of each resource.
func TestATargetGroupHasRoomForTheTagsOfAClass(t *testing.T) {
	gs := New(client.API{Owner: classtags.Owner}, "", nil, nil, nil, nil)
	classtags.Check(t, gs.tagsFor("fairlead/shop/site/internal", lb.TargetGroup{
		ID: "shop/web:80", Service: "shop/web", Port: "80", Digest: "v1:0123", Tags: classtags.All(),
		Attributes: classtags.With(look.TargetGroupDefaults, "stickiness.app_cookie.cookie_name"),
	}))
}

func TestTargetGroupsOfOthersAreForgotten(t *testing.T) {
	gs := New(client.API{}, "", nil, nil, nil, nil)
	const theirs, still, own = "arn:theirs", "arn:still", "arn:own"
	for id, arn := range map[lb.GroupID]string{theirs: theirs, still: still, "shop/web:80": own} {
		gs.arns[groupName{"key", id}], gs.members[arn] = []string{arn}, membership{}
	}
	owns := func(map[string]string) bool { return false }
	gs.Learn(&look.Look{Key: "key", Owns: owns, Groups: []elb.TargetGroup{{TargetGroupArn: sdk.String(still)}}, Balancer: &elb.LoadBalancer{}})
	if len(gs.arns) != 2 || len(gs.members) != 2 || gs.arns[groupName{"key", theirs}] != nil {
		t.Errorf("a target group of others that no rule names is remembered: %v", gs.arns)
	}
}
