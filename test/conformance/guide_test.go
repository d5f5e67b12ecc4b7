package conformance

import (
	"os"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/kube"
)

func TestTheGuideRunsTheOperatorAsTestsDo(t *testing.T) {
	text, err := os.ReadFile("../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "\nfairlead run " + strings.Join(kube.Alive.Operator, " ") + "\n"
	if !strings.Contains(string(text), want) {
		t.Errorf("docs/conformance.md has not the line%s", want)
	}
}
