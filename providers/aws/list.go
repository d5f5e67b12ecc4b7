package aws

import (
	"context"
	"slices"

	"fairlead.dev/fairlead/model/lb"
)

// List returns the keys of all resources that have the tags of this installation.
func (p *Provider) List(ctx context.Context) ([]lb.Key, error) {
	found, err := p.tags.find(ctx, map[string]string{tagInstallation: p.tags.installation},
		"elasticloadbalancing:loadbalancer", "elasticloadbalancing:targetgroup", "acm:certificate", "ec2:security-group")
	if err != nil {
		return nil, err
	}
	var keys []lb.Key
	for _, tags := range found {
		if key := keyIn(tags); key != "" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}
