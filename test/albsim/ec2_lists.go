package albsim

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	api "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2 "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// This file is prefix lists. One takes as many rules of a security group as it can have entries
// (https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html), and AWS's own have
// weights, which no call tells
// (https://docs.aws.amazon.com/vpc/latest/userguide/working-with-aws-managed-prefix-lists.html).

// CloudFrontList is the list of CloudFront's servers, and weighs 55.
const (
	CloudFrontList   = "pl-4fa04526"
	cloudFrontWeight = 55
)

// AddPrefixList adds a list of the account's own.
func (s *Sim) AddPrefixList(id string, maxEntries int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.net.lists[id] = &ec2.ManagedPrefixList{PrefixListId: aws.String(id), PrefixListName: aws.String(id), OwnerId: aws.String(Account), MaxEntries: aws.Int32(maxEntries)}
}

// weighs is how many rules a source takes.
func (n network) weighs(source string) int {
	switch list := n.lists[source]; {
	case source == CloudFrontList:
		return cloudFrontWeight
	case list != nil:
		return int(aws.ToInt32(list.MaxEntries))
	}
	return 1
}

func (s *Sim) describePrefixLists(in *api.DescribeManagedPrefixListsInput) (*api.DescribeManagedPrefixListsOutput, error) {
	out := &api.DescribeManagedPrefixListsOutput{PrefixLists: []ec2.ManagedPrefixList{}}
	for _, id := range in.PrefixListIds {
		if s.net.lists[id] == nil {
			return nil, refuse("InvalidPrefixListID.NotFound", "The prefix list ID '%s' does not exist", id)
		}
	}
	for _, id := range sortedKeys(s.net.lists) {
		if in.PrefixListIds == nil || slices.Contains(in.PrefixListIds, id) {
			out.PrefixLists = append(out.PrefixLists, *s.net.lists[id])
		}
	}
	return out, nil
}
