package aws

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
	"fairlead.dev/fairlead/providers/aws/awserr"
)

// This file is the tags by which Fairlead knows what is its own, and what it wrote.

// The tags of everything that is made.
const (
	tagInstallation = "fairlead.dev/installation"
	tagKey          = "fairlead.dev/key"
	tagDigest       = "fairlead.dev/digest"    // of the settings, written after them
	tagWebACL       = "fairlead.dev/wafv2-acl" // that was put before a load balancer
	tagShield       = "fairlead.dev/shield-advanced"
	tagGroup        = "fairlead.dev/target-group" // the target group's ID
	tagService      = "fairlead.dev/service"
	tagPort         = "fairlead.dev/service-port"
	tagCertificate  = "fairlead.dev/certificate"      // the certificate's ID
	tagLabel        = "fairlead.dev/certificate-leaf" // which certificate that is the ID of, and what for
)

// owned are the tags of what belongs to a load balancer, and more.
func (o owner) owned(key lb.Key, more map[string]string) map[string]string {
	out := maps.Clone(more)
	if out == nil {
		out = map[string]string{}
	}
	out[tagInstallation] = o.installation
	for i, part := range partsOf(string(key)) {
		out[keyTag(i)] = part
	}
	return out
}

// A key is as long as the names in it. What a tag's value has no room for is in further tags
// (https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html: a value
// has 256 characters).
const longestValue = 256

// keyTag is the tag that has a part of the key: fairlead.dev/key, fairlead.dev/key.2 and so on.
func keyTag(part int) string {
	if part == 0 {
		return tagKey
	}
	return tagKey + "." + strconv.Itoa(part+1)
}

// partsOf are the parts of a key that fit into tags.
func partsOf(key string) []string {
	var out []string
	for len(key) > longestValue {
		out, key = append(out, key[:longestValue]), key[longestValue:]
	}
	return append(out, key)
}

// keyIn is the key in tags; "" where there is none.
func keyIn(tags map[string]string) lb.Key {
	var key strings.Builder
	for i := 0; tags[keyTag(i)] != ""; i++ {
		key.WriteString(tags[keyTag(i)])
	}
	return lb.Key(key.String())
}

// owns reports whether tags are those of what belongs to a load balancer.
func (o owner) owns(key lb.Key, tags map[string]string) bool {
	return tags[tagInstallation] == o.installation && keyIn(tags) == key
}

// elbTags are tags as Elastic Load Balancing takes them.
func elbTags(tags map[string]string) []elb.Tag {
	var out []elb.Tag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, elb.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
	}
	return out
}

// Resources reads and writes the tags and attributes of the resources of an owner.
type resources struct {
	owner
	elb     *elbapi.Client
	tagging *resourcegroupstaggingapi.Client
}

// find lists the ARNs of resources with tags, and their tags; an empty value stands for any. What
// was made or deleted a moment ago may be missing or still be there.
func (r resources) find(ctx context.Context, tags map[string]string, types ...string) (map[string]map[string]string, error) {
	// A page has room for as many tags as AWS allows. It can be told to count resources instead; what
	// it makes of both is written nowhere.
	in := &resourcegroupstaggingapi.GetResourcesInput{ResourceTypeFilters: types, TagsPerPage: aws.Int32(500)}
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		filter := tagging.TagFilter{Key: aws.String(k)}
		if tags[k] != "" {
			filter.Values = []string{tags[k]}
		}
		in.TagFilters = append(in.TagFilters, filter)
	}
	out := map[string]map[string]string{}
	pages := resourcegroupstaggingapi.NewGetResourcesPaginator(r.tagging, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Explain("finding what is tagged", err)
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

// tagBatch is how many resources AWS describes the tags of at once.
const tagBatch = 20

// tagsOf reads the tags of resources of Elastic Load Balancing.
func (r resources) tagsOf(ctx context.Context, arns []string) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	for part := range slices.Chunk(arns, tagBatch) {
		answer, err := r.elb.DescribeTags(ctx, &elbapi.DescribeTagsInput{ResourceArns: part})
		if err != nil {
			return nil, awserr.Explain("reading tags", err)
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

// tag adds tags to a resource of Elastic Load Balancing.
func (r resources) tag(ctx context.Context, arn string, tags map[string]string) error {
	_, err := r.elb.AddTags(ctx, &elbapi.AddTagsInput{ResourceArns: []string{arn}, Tags: elbTags(tags)})
	return awserr.Explain("tagging "+arn, err)
}

// retag gives a resource the tags that it has after its settings were written, the digest among
// them.
func (r resources) retag(ctx context.Context, arn string, before, after map[string]string) error {
	if gone := surplus(before, after); len(gone) > 0 {
		if err := r.untag(ctx, arn, gone); err != nil {
			return err
		}
	}
	return r.tag(ctx, arn, after)
}

// unsigned are the tags of what is made before its settings are written: all but the digest.
func unsigned(tags map[string]string) map[string]string {
	out := maps.Clone(tags)
	delete(out, tagDigest)
	return out
}

// untag takes tags from a resource of Elastic Load Balancing.
func (r resources) untag(ctx context.Context, arn string, names []string) error {
	_, err := r.elb.RemoveTags(ctx, &elbapi.RemoveTagsInput{ResourceArns: []string{arn}, TagKeys: names})
	return awserr.Explain("removing tags of "+arn, err)
}
