package network

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// This file weighs rules: how much of the quota of rules of a security group each one takes. A rule
// takes one, and a rule with a prefix list takes the list's "maximum number of entries"
// (https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html), or, for a list of
// AWS's, its weight. AWS counts IPv4 and IPv6 apart; here they are counted together.

// managedWeights has the weights of AWS's lists, by the ends of their names
// (https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html).
var managedWeights = map[string]int{
	".cloudfront.origin-facing": 55, ".dynamodb": 1, ".ec2-instance-connect": 2, ".groundstation": 5,
	".route53-healthchecks": 25, ".s3": 1, ".s3express": 6, ".vpc-lattice": 10,
}

// weightLife is the time for which the weight of a prefix list is not read again.
const weightLife = time.Hour

// Weights reads how much prefix lists weigh, and caches it.
type Weights struct {
	ec2 *ec2.Client

	mu    sync.Mutex
	known map[string]weight // by the list's ID
}

type weight struct {
	entries int
	at      time.Time
}

// NewWeights returns Weights that know no list yet.
func NewWeights(api *ec2.Client) *Weights { return &Weights{ec2: api, known: map[string]weight{}} }

// Read reads the weights of prefix lists. A list whose weight cannot be read counts as one rule,
// and the error says why.
func (w *Weights) Read(
	ctx context.Context, lists []string,
) (of func(source string) int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var unknown []string
	for _, id := range lists {
		if known, is := w.known[id]; !is || time.Since(known.at) >= weightLife {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		pages := ec2.NewDescribeManagedPrefixListsPaginator(w.ec2,
			&ec2.DescribeManagedPrefixListsInput{PrefixListIds: unknown})
		for pages.HasMorePages() && err == nil {
			var page *ec2.DescribeManagedPrefixListsOutput
			if page, err = pages.NextPage(ctx); err == nil {
				for _, l := range page.PrefixLists {
					w.known[aws.ToString(l.PrefixListId)] = weight{weightOf(l), time.Now()}
				}
			}
		}
	}
	weights := map[string]int{}
	for _, id := range lists {
		weights[id] = w.known[id].entries
	}
	return func(source string) int { return max(1, weights[source]) }, err
}

// weightOf returns the weight of a prefix list. AWS says none of its own lists.
func weightOf(l ec2types.ManagedPrefixList) int {
	for end, entries := range managedWeights {
		if aws.ToString(l.OwnerId) == "AWS" && strings.HasSuffix(aws.ToString(l.PrefixListName), end) {
			return entries
		}
	}
	return int(aws.ToInt32(l.MaxEntries))
}

// ListsIn returns the prefix lists in the rules of security groups.
func ListsIn(groups ...ec2types.SecurityGroup) []string {
	var out []string
	for _, g := range groups {
		for _, p := range g.IpPermissions {
			for _, l := range p.PrefixListIds {
				out = append(out, aws.ToString(l.PrefixListId))
			}
		}
	}
	return out
}

// RulesIn returns how much of the quota of rules a security group uses.
func RulesIn(g ec2types.SecurityGroup, weigh func(source string) int) int {
	n := 0
	for _, p := range g.IpPermissions {
		n += len(p.IpRanges) + len(p.Ipv6Ranges) + len(p.UserIdGroupPairs)
		for _, l := range p.PrefixListIds {
			n += weigh(aws.ToString(l.PrefixListId))
		}
	}
	return n
}
