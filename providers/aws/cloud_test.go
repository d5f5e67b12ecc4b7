package aws

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestWhatIsForgoneForWantOfASetting(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nodes stay closed":               {nil, "--aws-cluster-name"},
		"nodes are opened":                {[]string{"--aws-cluster-name=shop"}, ""},
		"security groups are left as are": {[]string{"--aws-security-groups=none"}, ""},
	} {
		plug := Plug()
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		plug.Flags(flags)
		if err := flags.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		if got := plug.DisabledFeatures(); (got != "") != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q is said, want %q to be in it", name, got, c.want)
		}
	}
}

func TestASettingThatIsNone(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	Plug().Flags(flags)
	if err := flags.Parse([]string{"--aws-security-groups=some"}); err == nil || !strings.Contains(err.Error(), "it can be managed or none") {
		t.Errorf("told %v", err)
	}
}
