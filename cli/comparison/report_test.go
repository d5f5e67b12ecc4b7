package comparison

import (
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/compare"
)

// TestMarkdownOfHostileTexts: names and paths are the authors' of objects, who could write what a
// comment on a pull request would show as a table, a link or a mention.
func TestMarkdownOfHostileTexts(t *testing.T) {
	change := compare.Change{
		Curl:       "curl http://a/`|<b>\n| injected |",
		Before:     compare.Answer{Action: "fixed 404"},
		After:      compare.Answer{Action: "forward a|b", Source: "Ingress a/`b`"},
		Protection: compare.Less, Because: "see [here](http://evil) @team | x",
	}
	got := ReportOf(compare.Report{Changes: []compare.Change{change}}, 2, nil).Markdown()
	lines := strings.Split(strings.TrimSpace(got), "\n")
	row := lines[len(lines)-1]
	if len(lines) != 5 || strings.Count(strings.ReplaceAll(row, `\|`, ""), "|") != 5 ||
		strings.Count(row, "`")%2 != 0 || strings.Contains(row, "](") || strings.Contains(row, " @team") {
		t.Errorf("the row is\n%s\nof\n%s", row, got)
	}
}

// TestALongReportIsCut: comments are limited, and what is cut is counted.
func TestALongReportIsCut(t *testing.T) {
	var changes []compare.Change
	for i := range output.MostRows + 7 {
		changes = append(changes, compare.Change{Curl: fmt.Sprintf("curl http://a/%d", i)})
	}
	got := ReportOf(compare.Report{Changes: changes}, 2, nil).Markdown()
	if strings.Count(got, "curl") != output.MostRows || !strings.Contains(got, "\n7 more.\n") {
		t.Error(got)
	}
}

// TestWhatIsNotDecidedIsSaid: a report without differences must not say that nothing differs.
func TestWhatIsNotDecidedIsSaid(t *testing.T) {
	r := ReportOf(compare.Report{Undecided: []compare.Undecided{{LoadBalancer: "fairlead/a/b/internal", Port: 80, Host: "a.example.com", Why: "too many steps"}}}, 2, nil)
	for _, text := range []string{r.Text(false), r.Markdown()} {
		if !strings.Contains(text, "not decided") || !strings.Contains(text, "a.example.com") || strings.Contains(text, "no request is answered differently") {
			t.Error(text)
		}
	}
	if r.Empty() {
		t.Error("the report is empty")
	}
}
