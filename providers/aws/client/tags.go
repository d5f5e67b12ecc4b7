package client

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"

	"fairlead.dev/fairlead/model/lb"
)

// This file reads and writes the tags that identify Fairlead's resources and describe their
// settings.

// The tags of resources.
const (
	TagInstallation = "fairlead.dev/installation"
	tagKey          = "fairlead.dev/key"
	TagDigest       = "fairlead.dev/digest"    // of the settings, written after them
	TagWebACL       = "fairlead.dev/wafv2-acl" // that was attached to a load balancer
	TagShield       = "fairlead.dev/shield-advanced"
	TagPart         = "fairlead.dev/part"         // which part of a firewall a security group is
	TagGroup        = "fairlead.dev/target-group" // the target group's ID
	TagService      = "fairlead.dev/service"
	TagPort         = "fairlead.dev/service-port"
	TagCertificate  = "fairlead.dev/certificate"      // the certificate's ID
	TagLabel        = "fairlead.dev/certificate-leaf" // a label: which certificate AWS has imported
)

// Owned returns the tags of a resource that belongs to a load balancer, and more tags.
func (o Owner) Owned(key lb.Key, more map[string]string) map[string]string {
	out := maps.Clone(more)
	if out == nil {
		out = map[string]string{}
	}
	out[TagInstallation] = o.Installation
	for i, part := range splitKey(string(key)) {
		out[keyTag(i)] = part
	}
	return out
}

// longestValue is how many characters the value of a tag has. A longer key continues in further
// tags (https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html: a
// value has 256 characters).
const longestValue = 256

// keyTag returns the tag of a part of the key: fairlead.dev/key, fairlead.dev/key.2 and so on.
func keyTag(part int) string {
	if part == 0 {
		return tagKey
	}
	return tagKey + "." + strconv.Itoa(part+1)
}

// splitKey splits a key into parts that fit into tags.
func splitKey(key string) []string {
	var out []string
	for len(key) > longestValue {
		out, key = append(out, key[:longestValue]), key[longestValue:]
	}
	return append(out, key)
}

// KeyIn returns the key in tags; "" if they have none.
func KeyIn(tags map[string]string) lb.Key {
	var key strings.Builder
	for i := 0; tags[keyTag(i)] != ""; i++ {
		key.WriteString(tags[keyTag(i)])
	}
	return lb.Key(key.String())
}

// Owns reports whether tags are those of a resource of a load balancer.
func (o Owner) Owns(key lb.Key, tags map[string]string) bool {
	return tags[TagInstallation] == o.Installation && KeyIn(tags) == key
}

// ELBTags returns tags in the form of Elastic Load Balancing.
func ELBTags(tags map[string]string) []elb.Tag {
	var out []elb.Tag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, elb.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return out
}

// API reads and writes the tags of the resources of an owner.
type API struct {
	Owner
	ELB     *elbapi.Client
	Tagging *resourcegroupstaggingapi.Client
}

// Find returns all tags of the resources that have some tags, by ARN; an empty value matches any.
// It uses the index of tags, which may lack new resources and have deleted ones.
func (r API) Find(ctx context.Context, tags map[string]string,
	types ...string) (map[string]map[string]string, error) {
	// A page has as many tags as AWS permits. AWS does not document requests that also limit the
	// number of resources.
	in := &resourcegroupstaggingapi.GetResourcesInput{
		ResourceTypeFilters: types, TagsPerPage: aws.Int32(500),
	}
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		filter := tagging.TagFilter{Key: aws.String(k)}
		if tags[k] != "" {
			filter.Values = []string{tags[k]}
		}
		in.TagFilters = append(in.TagFilters, filter)
	}
	out := map[string]map[string]string{}
	pages := resourcegroupstaggingapi.NewGetResourcesPaginator(r.Tagging, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, Explain("finding what is tagged", err)
		}
		for _, m := range page.ResourceTagMappingList {
			found := map[string]string{}
			for _, t := range m.Tags {
				found[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}
			out[aws.ToString(m.ResourceARN)] = found
		}
	}
	return out, nil
}

// TagBatch is the largest number of resources in a call that describes tags.
const TagBatch = 20

// TagsOf reads the tags of resources of Elastic Load Balancing.
func (r API) TagsOf(ctx context.Context, arns []string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	for part := range slices.Chunk(arns, TagBatch) {
		answer, err := r.ELB.DescribeTags(ctx, &elbapi.DescribeTagsInput{ResourceArns: part})
		if err != nil {
			return nil, Explain("reading tags", err)
		}
		for _, d := range answer.TagDescriptions {
			tags := map[string]string{}
			for _, t := range d.Tags {
				tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}
			out[aws.ToString(d.ResourceArn)] = tags
		}
	}
	return out, nil
}

// Tag adds tags to a resource of Elastic Load Balancing.
func (r API) Tag(ctx context.Context, arn string, tags map[string]string) error {
	_, err := r.ELB.AddTags(ctx, &elbapi.AddTagsInput{
		ResourceArns: []string{arn}, Tags: ELBTags(tags),
	})
	return Explain("tagging "+arn, err)
}

// Retag adds the tags of a resource after its settings were written, with the digest, and removes
// surplus tags.
func (r API) Retag(ctx context.Context, arn string, before, after map[string]string) error {
	if gone := SurplusTags(before, after); len(gone) > 0 {
		if err := r.Untag(ctx, arn, gone); err != nil {
			return err
		}
	}
	return r.Tag(ctx, arn, after)
}

// WithoutDigest returns all tags except the digest, which is written after the settings.
func WithoutDigest(tags map[string]string) map[string]string {
	out := maps.Clone(tags)
	delete(out, TagDigest)
	return out
}

// Untag removes tags from a resource of Elastic Load Balancing.
func (r API) Untag(ctx context.Context, arn string, names []string) error {
	_, err := r.ELB.RemoveTags(ctx,
		&elbapi.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: names})
	return Explain("removing tags of "+arn, err)
}
