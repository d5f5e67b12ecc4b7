package cli

import (
	"strings"
	"testing"
)

// TestAdoptPrintsWhatIsInTheWay: it is about the cluster, and no difference.
func TestAdoptPrintsWhatIsInTheWay(t *testing.T) {
	report := adoption{InTheWay: []string{"the controller runs"}}
	report.finish()
	if text := report.Text(false); !strings.Contains(text, "In the way of taking over:\n  the controller runs\n") || report.differs() {
		t.Errorf("it prints %s", text)
	}
}
