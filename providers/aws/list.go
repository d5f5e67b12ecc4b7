package aws

import (
	"context"
	"slices"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
)

// List returns the keys of all resources with the tags of this installation.
func (p *Provider) List(ctx context.Context) ([]lb.Key, error) {
	found, err := p.clients.Find(ctx, map[string]string{
		client.TagInstallation: p.clients.Installation,
	},
		"elasticloadbalancing:loadbalancer", "elasticloadbalancing:targetgroup", "acm:certificate",
		"ec2:security-group")
	if err != nil {
		return nil, err
	}
	var keys []lb.Key
	for _, tags := range found {
		if key := client.KeyIn(tags); key != "" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}
