package kube

import (
	"os"
	"path/filepath"
	"testing"
)

func TestARaceIsFoundInTheLog(t *testing.T) {
	t.Parallel()
	const report = "\nWrite at 0x00c000012345 by goroutine 7:\n  main.main.func1()\n"
	for said, want := range map[string]string{
		"":                          "",
		`{"msg":"starting"}` + "\n": "",
		`{"msg":"starting"}` + "\n==================\nWARNING: DATA RACE" + report + "==================\n" + `{"msg":"working"}`: report,
		"==================\nWARNING: DATA RACE" + report:                                                                         report, // it was killed meanwhile
	} {
		p := &process{log: filepath.Join(t.TempDir(), "log")}
		if err := os.WriteFile(p.log, []byte(said), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := p.race(); got != want {
			t.Errorf("in %q the race is %q", said, got)
		}
	}
}
