package settings

import "testing"

// ARNs begin with the partition: aws, aws-cn in China, aws-us-gov in GovCloud, aws-iso and more in
// isolated regions (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html).
func TestARNsOfAllPartitions(t *testing.T) {
	for partition, region := range map[string]string{
		"aws": "eu-west-1", "aws-cn": "cn-northwest-1", "aws-us-gov": "us-gov-west-1", "aws-iso": "us-iso-east-1", "aws-iso-b": "us-isob-east-1",
		"aws-iso-e": "eu-isoe-west-1", "aws-iso-f": "us-isof-south-1", "aws-eusc": "eusc-de-east-1",
	} {
		certificate := "arn:" + partition + ":acm:" + region + ":123456789012:certificate/12345678-1234-1234-1234-123456789012"
		acl := "arn:" + partition + ":wafv2:" + region + ":123456789012:regional/webacl/edge/12345678-1234-1234-1234-123456789012"
		if !certificateARN.MatchString(certificate) {
			t.Errorf("%s is no certificate", certificate)
		}
		if !certificateARN.MatchString("arn:" + partition + ":iam::123456789012:server-certificate/path/name") {
			t.Errorf("no certificates of IAM in %s", partition)
		}
		if webACL.Check(acl) != nil {
			t.Errorf("%s is no web ACL", acl)
		}
	}
}
