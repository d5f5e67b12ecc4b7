package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestRunRefusesWhatItCannotDo(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"a cloud that it cannot run":    {[]string{"--provider", "aws"}, `the operator cannot run "aws"; it can run fake`},
		"a format of logs":              {[]string{"--log-format", "xml"}, `"xml" is neither json nor console`},
		"a mode of Secrets":             {[]string{"--secrets", "some"}, `"some" is none of all, labelled and none`},
		"a cluster that is not to find": {[]string{"--kubeconfig", filepath.Join(t.TempDir(), "none")}, "finding the cluster: "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := fairlead(t, append([]string{"run"}, c.args...)...)
			if got.code != exitFail || !strings.Contains(got.err, c.want) {
				t.Errorf("exit code %d, %q; want %q", got.code, got.err, c.want)
			}
		})
	}
}
