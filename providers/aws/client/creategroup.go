package client

import (
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// ToCreateTargetGroup returns the call that creates a target group.
func ToCreateTargetGroup(g elb.TargetGroup, tags []elb.Tag) *elbapi.CreateTargetGroupInput {
	return &elbapi.CreateTargetGroupInput{
		Name: g.TargetGroupName, VpcId: g.VpcId, Port: g.Port, Protocol: g.Protocol,
		ProtocolVersion: g.ProtocolVersion, TargetType: g.TargetType, IpAddressType: g.IpAddressType,
		HealthCheckPath: g.HealthCheckPath, HealthCheckPort: g.HealthCheckPort,
		HealthCheckProtocol:        g.HealthCheckProtocol,
		HealthCheckIntervalSeconds: g.HealthCheckIntervalSeconds,
		HealthCheckTimeoutSeconds:  g.HealthCheckTimeoutSeconds,
		HealthyThresholdCount:      g.HealthyThresholdCount,
		UnhealthyThresholdCount:    g.UnhealthyThresholdCount,
		Matcher:                    g.Matcher, Tags: tags,
	}
}
