package client

// This file lists the errors of each class. Their meanings are those in the models of AWS's SDK
// (service/*/types/errors.go), and EC2's at
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html. A test searches the
// models for errors that are in none of these lists.

// pendingCodes has the errors after which a later try may succeed.
var pendingCodes = []string{
	// Elastic Load Balancing
	"ResourceInUse",
	// "The specified trust store is not active.": it passes once AWS has made it.
	"TrustStoreNotReady",
	"CapacityReservationPending", // "There is a pending capacity reservation."
	// "The health of the specified targets could not be retrieved due to an internal error."
	"HealthUnavailable",
	// EC2
	"DependencyViolation",
	// "You cannot delete a security group that is in use": DeleteSecurityGroup has either code.
	"InvalidGroup.InUse",
	// Certificate Manager
	// "a resource or configuration that is already being created or updated. Wait […] and try again."
	"Conflict",
	// "The certificate request is in process and the certificate […] has not yet been issued."
	"RequestInProgress",
	// WAF
	"WAFUnavailableEntity",
	// Shield
	"OptimisticLock", // "the resource state has been modified by another client"
	// Resource Groups Tagging
	// "the target of the operation is currently being modified by a different request"
	"ConcurrentModification",
}

// rejectedCodes has the errors that last until the objects of the call change, or the resources
// that they name.
var rejectedCodes = []string{
	// Elastic Load Balancing
	"ValidationError", "InvalidConfigurationRequest", "InvalidLoadBalancerAction", "InvalidTarget",
	"InvalidSubnet", "SubnetNotFound", "InvalidSecurityGroup", "InvalidScheme", "UnsupportedProtocol",
	"CertificateNotFound", "UnsupportedCertificate", "SSLPolicyNotFound", "IncompatibleProtocols",
	"OperationNotPermitted", "AvailabilityZoneNotSupported", "TrustStoreNotFound",
	"DuplicateTagKeys", // "A tag key was specified more than once."
	// EC2
	"InvalidParameterValue", "InvalidParameterCombination", "InvalidGroup.NotFound",
	"InvalidSecurityGroupID.NotFound", "InvalidSubnetID.NotFound", "InvalidVpcID.NotFound",
	// A prefix list that an Ingress names. AWS documents the first spelling and
	// hashicorp/terraform-provider-aws has met both (internal/service/ec2/errors.go).
	"InvalidPrefixListID.NotFound", "InvalidPrefixListId.NotFound", "InvalidPrefixListId.Malformed",
	"InvalidPermission.Malformed", // "The specified security group rule is malformed."
	// Certificate Manager
	"Validation", "InvalidArn", "InvalidTag",
	// "An input parameter was invalid."; Shield and Resource Groups Tagging use it, too
	"InvalidParameter",
	"InvalidArgs", // "One or more of request parameters specified is not valid."
	"TagPolicy",   // "A specified tag did not comply with an existing tag policy and was rejected."
	// WAF
	"WAFNonexistentItem", "WAFInvalidParameter", "WAFInvalidOperation",
	// "isn't supported by the CloudFront pricing plan associated with the web ACL"
	"WAFFeatureNotIncludedInPricingPlan",
	// Shield
	// "You might not have access to the resource, or the resource might not exist."
	"InvalidResource",
	"InvalidOperation", // "the operation would not cause any change to occur"
}
