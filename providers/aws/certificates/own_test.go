package certificates

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/client"
)

func TestCertificatesThatAreNotAskedAboutAreForgotten(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		o := &New(client.API{}, nil, nil, nil).imported
		for n := range 100 {
			o.addForeign(fmt.Sprint("arn:aws:acm:", n))
			o.beginImport("key", lb.CertificateID(fmt.Sprint(n)))
		}
		time.Sleep(certificateLife - time.Hour)
		if !o.isForeign("arn:aws:acm:7") || !o.importing("key", "7") {
			t.Error("they are forgotten early")
		}
		time.Sleep(2 * time.Hour)
		o.addForeign("arn:aws:acm:new")
		o.beginImport("key", "new")
		if len(o.foreign) != 2 || !o.isForeign("arn:aws:acm:7") {
			t.Errorf("of %d it is known that others made them, want the new one and the one that was asked about", len(o.foreign))
		}
		if len(o.unanswered) != 1 {
			t.Errorf("%d are remembered to have been asked for, want one", len(o.unanswered))
		}
	})
}
