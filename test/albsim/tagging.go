package albsim

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"
)

// This file finds resources by their tags, across services.

// An index is what resources are found by, which follows their tags. The first change starts a window; at the end of
// it everything is found as it is then.
type index struct {
	due  time.Time // when the open window ends; zero if there is none
	tags map[string]map[string]string
}

// reindex brings the index to the present.
func (s *Sim) reindex() {
	if due := s.index.due; due.IsZero() || s.now().Before(due) {
		return
	}
	s.index = index{tags: map[string]map[string]string{}}
	for id, tags := range s.tags {
		s.index.tags[id] = maps.Clone(tags)
	}
}

// outdate notes that the index may have to follow.
func (s *Sim) outdate() {
	if s.options.Indexing > 0 && s.index.due.IsZero() {
		s.index.due = s.now().Add(s.options.Indexing)
	}
}

func taggingCalls() map[string]handler {
	return map[string]handler{"GetResources": on((*Sim).getResources)}
}

func (s *Sim) getResources(in *api.GetResourcesInput) (*api.GetResourcesOutput, error) {
	var all []tagging.ResourceTagMapping
	known := s.index.tags
	if s.options.Indexing == 0 {
		known = s.tags
	}
	for _, id := range sortedKeys(known) {
		arn := id
		if strings.HasPrefix(id, "sg-") {
			arn = "arn:aws:ec2:" + Region + ":" + Account + ":security-group/" + id
		}
		if !strings.HasPrefix(arn, "arn:") || len(known[id]) == 0 || !ofType(arn, in.ResourceTypeFilters) || !hasTags(known[id], in.TagFilters) {
			continue
		}
		m := tagging.ResourceTagMapping{ResourceARN: aws.String(arn)}
		for _, key := range sortedKeys(known[id]) {
			m.Tags = append(m.Tags, tagging.Tag{Key: aws.String(key), Value: aws.String(known[id][key])})
		}
		all = append(all, m)
	}
	size, err := room(all, in)
	if err != nil {
		return nil, err
	}
	token := in.PaginationToken
	if aws.ToString(token) == "" {
		token = nil
	}
	part, next, err := page(all, token, size, 50)
	if err != nil {
		return nil, err
	}
	return &api.GetResourcesOutput{ResourceTagMappingList: part, PaginationToken: aws.String(aws.ToString(next))}, nil
}

// room is how many resources a page has room for: as many as it is told, or as have no more tags together than it is
// told, wherever it begins; nil where it is told nothing.
func room(all []tagging.ResourceTagMapping, in *api.GetResourcesInput) (*int32, error) {
	resources, tags := in.ResourcesPerPage, in.TagsPerPage
	switch {
	case resources != nil && tags != nil:
		return nil, refuse("InvalidParameterException", "What a page is with both ResourcesPerPage and TagsPerPage is not documented")
	case resources != nil && (*resources < 1 || *resources > 100):
		return nil, refuse("InvalidParameterException", "ResourcesPerPage must be between 1 and 100")
	case tags == nil:
		return resources, nil
	case *tags < 100 || *tags > 500:
		return nil, refuse("InvalidParameterException", "TagsPerPage must be between 100 and 500")
	}
	most := 1
	for _, m := range all {
		most = max(most, len(m.Tags))
	}
	return aws.Int32(min(*tags/int32(most), 400)), nil
}

// ofType reports whether a resource is of one of some types: elasticloadbalancing:targetgroup.
func ofType(arn string, types []string) bool {
	parts := strings.SplitN(arn, ":", 6)
	kind, _, _ := strings.Cut(parts[5], "/")
	return len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return t == parts[2] || t == parts[2]+":"+kind })
}

func hasTags(tags map[string]string, filters []tagging.TagFilter) bool {
	return !slices.ContainsFunc(filters, func(f tagging.TagFilter) bool {
		value, has := tags[aws.ToString(f.Key)]
		return !has || len(f.Values) > 0 && !slices.Contains(f.Values, value)
	})
}
