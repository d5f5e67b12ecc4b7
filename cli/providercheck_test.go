package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"fairlead.dev/fairlead/model/check"
)

// TestProviderCheck tries the fake cloud at a socket.
func TestProviderCheck(t *testing.T) {
	s := servedAt(t, t.TempDir(), "--provider", "fake")
	ran := func(args ...string) (int, string, string) {
		var out, err bytes.Buffer
		code := Run(t.Context(), append([]string{"provider", "check", "--pause", "1ms"}, args...), testProviders(), Streams{In: strings.NewReader(""), Out: &out, Err: &err})
		return code, out.String(), err.String()
	}
	code, out, err := ran("unix://" + s.path)
	if code != exitDone || strings.Contains(out, "✗") || !strings.Contains(out, " 0 wrong, 0 not known\n") {
		t.Errorf("exit code %d:\n%s%s", code, out, err)
	}
	code, out, _ = ran("unix://"+s.path, "-o", "json")
	var report checkReport
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitDone || len(report.Findings) < 25 {
		t.Errorf("exit code %d, %v:\n%s", code, err, out)
	}
	code, out, _ = ran("unix://"+s.path+".not", "-o", "json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitFail || len(report.Findings) != 1 || report.Findings[0].State != check.Wrong {
		t.Errorf("nothing listens: exit code %d, %v:\n%s", code, err, out)
	}
	if code, _, err := ran("http://10.0.0.1:80"); code != exitFail || !strings.Contains(err, "https") {
		t.Errorf("a URL that no provider can have: exit code %d: %s", code, err)
	}
}
