package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/check"
)

// providerChecked runs the command.
func providerChecked(t *testing.T, args ...string) (int, string, string) {
	t.Helper()
	var out, err bytes.Buffer
	code := Run(t.Context(), append([]string{"provider", "check", "--pause", "1ms"}, args...), testProviders(), Streams{In: strings.NewReader(""), Out: &out, Err: &err})
	return code, out.String(), err.String()
}

// TestProviderCheck tries the fake cloud at a socket.
func TestProviderCheck(t *testing.T) {
	s := servedAt(t, t.TempDir(), "--provider", "fake")
	code, out, err := providerChecked(t, "unix://"+s.path)
	if code != exitDone || strings.Contains(out, "✗") || !strings.Contains(out, " 0 wrong, 0 not known\n") || !strings.Contains(out, "a plan cut short") || !strings.HasSuffix(out, "run: fairlead demo --once -f DIR --provider NAME=unix://"+s.path+"\n") {
		t.Errorf("exit code %d:\n%s%s", code, out, err)
	}
	code, out, _ = providerChecked(t, "unix://"+s.path, "-o", "json")
	var report output.FindingsReport
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitDone || len(report.Findings) < 35 {
		t.Errorf("exit code %d, %v:\n%s", code, err, out)
	}
	code, out, _ = providerChecked(t, "unix://"+s.path+".not", "-o", "json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitFail || len(report.Findings) != 1 || report.Findings[0].State != check.Wrong {
		t.Errorf("nothing listens: exit code %d, %v:\n%s", code, err, out)
	}
	if code, _, err := providerChecked(t, "http://10.0.0.1:80"); code != exitFail || !strings.Contains(err, "https") {
		t.Errorf("a URL that no provider can have: exit code %d: %s", code, err)
	}
}

// TestProviderCheckInParts tries a part, and what a part is told.
func TestProviderCheckInParts(t *testing.T) {
	s := servedAt(t, t.TempDir(), "--provider", "fake")
	at := "unix://" + s.path
	ids := func(out string) string {
		var report output.FindingsReport
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
		var all []string
		for _, f := range report.Findings {
			all = append(all, f.ID+" "+string(f.State))
		}
		return strings.Join(all, "\n")
	}
	_, out, _ := providerChecked(t, at, "--only", "wire", "-o", "json")
	if got := ids(out); strings.Contains(got, "contract/") || !strings.Contains(got, "provider/deleted ok") {
		t.Errorf("the wire:\n%s", got)
	}
	_, out, _ = providerChecked(t, at, "--only", "contract", "--target", "none", "-o", "json")
	if got := ids(out); strings.Contains(got, "provider/") || !strings.Contains(got, "contract/targets unknown") || !strings.Contains(got, "contract/deleted ok") {
		t.Errorf("the contract without a target:\n%s", got)
	}
	_, out, _ = providerChecked(t, at+".not", "--only", "contract", "-o", "json")
	if got := ids(out); got != "contract/open wrong" {
		t.Errorf("nothing listens:\n%s", got)
	}
	settings := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(settings, []byte("speed: high\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ := providerChecked(t, at, "--only", "contract", "--settings", settings, "-o", "json")
	if got := ids(out); code != exitFail || got != "contract/place wrong" {
		t.Errorf("settings that it does not have: exit code %d:\n%s", code, got)
	}
	for _, args := range [][]string{{"--only", "all"}, {"--target", "here"}, {"--settings", settings + ".not"}} {
		if code, _, err := providerChecked(t, append(args, at)...); code != exitFail || !strings.Contains(err, args[0]) {
			t.Errorf("%v: exit code %d: %s", args, code, err)
		}
	}
}
