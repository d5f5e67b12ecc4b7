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
		"a cloud that it cannot run":    {[]string{"--provider", "azure"}, `--provider: "azure": it can be aws or fake`},
		"a format of logs":              {[]string{"--log-format", "xml"}, `--log-format: "xml": it can be console or json`},
		"a mode of Secrets":             {[]string{"--secrets", "some"}, `--secrets: "some": it can be all, labelled or none`},
		"a number of workers":           {[]string{"--workers", "0"}, `--workers: "0": it has to be a whole number of at least 1`},
		"a rate of calls":               {[]string{"--cloud-rate", "-1"}, `--cloud-rate: "-1": it has to be a number that is not below 0`},
		"a rate that is no number":      {[]string{"--cloud-rate", "NaN"}, `--cloud-rate: "NaN": it has to be a number that is not below 0`},
		"a name of a class":             {[]string{"--manage-ingress-class=Fair Lead"}, `--manage-ingress-class: "Fair Lead": a lowercase RFC 1123 subdomain must`},
		"addresses that are no network": {[]string{"--fake-addresses", "192.0.2.1"}, `--fake-addresses: "192.0.2.1": `},
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
