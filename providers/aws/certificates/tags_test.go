package certificates

import (
	"testing"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/classtags"
)

// AWS takes 50 tags of each resource.
func TestACertificateHasRoomForTheTagsOfAClass(t *testing.T) {
	owned := classtags.Owner.Owned("fairlead/shop/site/internal", map[string]string{client.TagCertificate: "id", client.TagLabel: "label"})
	classtags.Check(t, Tags(owned, lb.Certificate{Digest: "v1:0123", Tags: classtags.All()}))
}
