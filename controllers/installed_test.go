package controllers

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
)

func TestAClusterWithoutOurKindsSaysWhatToInstall(t *testing.T) {
	err := checkInstalled(meta.NewDefaultRESTMapper(nil))
	if want := `looking for the kinds that config/crd installs: no matches for kind "Backend" in version "fairlead.dev/v1alpha1"`; err == nil || err.Error() != want {
		t.Errorf("told %v, want %s", err, want)
	}
}
