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

// An index finds resources by their tags. It follows the tags of each resource by itself, some time
// after they change, and goes on to list deleted resources for some time: "tagged or previously
// tagged resources", as
// https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/API_GetResources.html says;
// aws/aws-cli#4173 and boto/boto3#3341 met deleted ones for hours.
type index struct {
	tags map[string]map[string]string // that resources are found by
	last map[string]map[string]string // that they had when it was looked last
	due  []reindexing                 // in the order in which they were noted
}

// A reindexing is the tags of a resource that it will be found by; nil for one that will not be
// found any more.
type reindexing struct {
	id   string
	tags map[string]string
	at   time.Time
}

// lags reports whether the index is another thing than the tags.
func (o Options) lags() bool { return o.Indexing > 0 || o.Ghosts > 0 }

// reindex brings the index to the present.
func (s *Sim) reindex() {
	now := s.now()
	s.index.due = slices.DeleteFunc(s.index.due, func(r reindexing) bool {
		switch {
		case now.Before(r.at):
			return false
		case r.tags == nil:
			delete(s.index.tags, r.id)
		default:
			s.index.tags[r.id] = r.tags
		}
		return true
	})
}

// outdate notes which resources the index has to follow.
func (s *Sim) outdate() {
	if !s.options.lags() {
		return
	}
	if s.index.tags == nil {
		s.index.tags, s.index.last = map[string]map[string]string{}, map[string]map[string]string{}
	}
	now := s.now()
	for id, tags := range s.tags {
		if before, known := s.index.last[id]; !known || !maps.Equal(before, tags) {
			copied := maps.Clone(tags)
			s.index.last[id] = copied
			s.index.due = append(s.index.due, reindexing{id, copied, now.Add(s.options.Indexing)})
		}
	}
	for id := range s.index.last {
		if _, there := s.tags[id]; !there {
			delete(s.index.last, id)
			s.index.due = append(s.index.due, reindexing{id, nil, now.Add(max(s.options.Indexing, s.options.Ghosts))})
		}
	}
	s.reindex()
}

func taggingCalls() map[string]handler {
	return map[string]handler{"GetResources": on((*Sim).getResources)}
}

func (s *Sim) getResources(in *api.GetResourcesInput) (*api.GetResourcesOutput, error) {
	var all []tagging.ResourceTagMapping
	known := s.index.tags
	if !s.options.lags() {
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

// room is how many resources a page has room for: as many as it is told, or as have no more tags
// together than it is told, wherever it begins; nil where it is told nothing.
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
