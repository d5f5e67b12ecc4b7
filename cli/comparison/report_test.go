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
		strings.Count(row, "``")%2 != 0 || strings.Contains(row, "](") || strings.Contains(row, " @team") {
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
	if strings.Count(got, "curl") != output.MostRows || !strings.Contains(got, "\n7 more: there is no room") {
		t.Error(got)
	}
}

// TestWhatIsLessProtectedIsNotCut: a reviewer sees it, however many other differences there are, and
// the comment is as short as GitHub takes.
func TestWhatIsLessProtectedIsNotCut(t *testing.T) {
	long := strings.Repeat("x", 2000)
	var report compare.Report
	for i := range 150 {
		report.Changes = append(report.Changes, compare.Change{Curl: fmt.Sprintf("curl http://a%d.example.com/%s", i, long)})
		report.Exposures = append(report.Exposures, compare.Exposure{Setting: "certificate", Before: long, After: "none"})
	}
	report.Changes = append(report.Changes, compare.Change{Curl: "curl http://zz.example.com/", Protection: compare.Less})
	report.Exposures = append(report.Exposures, compare.Exposure{Setting: "scheme", After: "zz", Protection: compare.Unknown})
	for range 150 {
		report.Changes = append(report.Changes, compare.Change{Curl: "curl http://more.example.com/" + long, Protection: compare.Less})
	}
	got := ReportOf(report, 2, nil).Markdown()
	if len(got) > 65_536 {
		t.Errorf("the comment has %d bytes", len(got))
	}
	for _, part := range []string{"curl http://zz.example.com/", "`zz`", " more, of which ", " **less protected**"} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in the comment", part)
		}
	}
}

// TestNoCharacterOfARequestIsChanged: the request of a comment is pasted into a shell. Backticks
// that became apostrophes ended the quotes of the shell.
func TestNoCharacterOfARequestIsChanged(t *testing.T) {
	for _, curl := range []string{
		"curl -H 'x-a: b`;touch pwned;`' http://a/x", "curl 'http://a/``|`'", "curl 'http://a/```'", "`", " a ", "curl http://a/x", `curl 'http://a/\|'`,
	} {
		got := output.Code(curl)
		fence := got[:len(got)-len(strings.TrimLeft(got, "`"))]
		inside := strings.TrimSuffix(strings.TrimPrefix(got, fence), fence)
		if strings.HasPrefix(inside, " ") && strings.HasSuffix(inside, " ") {
			inside = inside[1 : len(inside)-1]
		}
		if strings.ReplaceAll(inside, `\|`, "|") != curl || strings.Contains(inside, fence) {
			t.Errorf("%s is shown as %s", curl, got)
		}
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

// TestEqualChangesAreOneEntry: a change of many hosts is read once, and nothing that protects is hidden in it.
func TestEqualChangesAreOneEntry(t *testing.T) {
	change := func(host, path string, p compare.Protection) compare.Change {
		c := compare.Change{Curl: "curl http://" + host + path, LoadBalancer: "a", Protection: p,
			Before: compare.Answer{Action: "forward a/admin:80"}, After: compare.Answer{Action: "forward a/admin2:80"}}
		c.Request.Routed.Host = host
		return c
	}
	var report compare.Report
	for i := range 300 {
		report.Changes = append(report.Changes, change(fmt.Sprintf("app%d.example.com", i), "/admin", ""))
	}
	report.Changes = append(report.Changes, change("app.example.com", "/other", ""),
		change("less.example.com", "/admin", compare.Less), change("also-less.example.com", "/admin", compare.Less),
		change("more.example.com", "/admin", compare.More))
	other := change("elsewhere.example.com", "/admin", "")
	other.LoadBalancer = "b"
	report.Changes = append(report.Changes, other)
	r := ReportOf(report, 2, nil)
	also := "299 other hosts change in the same way: app1.example.com, app2.example.com, "
	for _, text := range []string{r.Text(false), r.Markdown()} {
		if strings.Count(text, "curl ") != 6 || strings.Count(text, also) != 1 || !strings.Contains(text, "and 289 more, which -o json has") ||
			!strings.Contains(text, "305 routes change") {
			t.Error(text)
		}
	}
}
