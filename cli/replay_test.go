package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/fairlead/cli/traffic"
)

// This file replays logs from the command line.

// accessLine is a line of a request that Service shop/web got.
func accessLine(url string) string {
	return `http 2026-07-02T22:20:00.186641Z app/web/50dc6c495c0c9188 192.0.2.1:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "GET ` + url + ` HTTP/1.1" "curl" - - arn:x "Root=1" "-" "-" 7 2026-07-02T22:22:48.364000Z "forward" "-" "-" "-" "-" "-" "-"` + "\n"
}

func compressed(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// replayJSON runs replay, and reads what it prints.
func replayJSON(t *testing.T, stdin string, args ...string) (traffic.Report, said) {
	t.Helper()
	var out, complaints bytes.Buffer
	code := Run(t.Context(), append([]string{"replay", "--provider", "aws", "-o", "json"}, args...), testProviders(),
		Streams{In: strings.NewReader(stdin), Out: &out, Err: &complaints})
	var report traffic.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil && out.Len() > 0 {
		t.Fatalf("%v: %s", err, out.String())
	}
	return report, said{out.String(), complaints.String(), code}
}

// shop is a directory with an Ingress for a.example.com.
func shop(t *testing.T) string {
	t.Helper()
	return directory(t, map[string]string{"web.yaml": ingressYAML("web", "a.example.com", "/") + "---\n" + serviceYAML})
}

func TestLogsAreReadFromFilesDirectoriesPatternsAndStandardInput(t *testing.T) {
	line := accessLine("http://a.example.com:80/")
	logs := directory(t, map[string]string{"a.log": line + line, "b.log.gz": compressed(t, line) + compressed(t, line+line), "named-otherwise": compressed(t, line), "empty.log": ""})
	if err := os.MkdirAll(filepath.Join(logs, "2026/07"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(logs, "2026/07/c.log"), line+"\n"+strings.TrimSuffix(line, "\n"))
	for name, c := range map[string]struct {
		logs  []string
		stdin string
		want  int64
	}{
		"a file":                     {[]string{"a.log"}, "", 2},
		"a file that is compressed":  {[]string{"b.log.gz"}, "", 3},
		"one without a suffix":       {[]string{"named-otherwise"}, "", 1},
		"a pattern":                  {[]string{"*.log"}, "", 2},
		"a directory":                {[]string{""}, "", 8},
		"a file that is named twice": {[]string{"a.log", "*.log"}, "", 2},
		"standard input":             {[]string{"-"}, line, 1},
		"standard input, compressed": {[]string{"-"}, compressed(t, line+line), 2},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{shop(t)}
			for _, l := range c.logs {
				if l != "-" {
					l = filepath.Join(logs, l)
				}
				args = append(args, "--logs", l)
			}
			report, got := replayJSON(t, c.stdin, args...)
			if report.Summary.Compared != c.want || got.code != exitDone {
				t.Errorf("%d lines, want %d; exit code %d, %s", report.Summary.Compared, c.want, got.code, got.err)
			}
		})
	}
}

// TestALineThatCannotBeReadCostsItself: it is told with file and number, and the others are counted.
func TestLogsWithoutALineAreAnError(t *testing.T) {
	for name, stdin := range map[string]string{
		"empty": "", "compressed": compressed(t, ""), "an empty line": "\n",
	} {
		_, said := replayJSON(t, stdin, "--logs", "-", shop(t))
		if said.code != 1 || !strings.Contains(said.err, "the logs have no line") {
			t.Errorf("%s: exit code %d: %s", name, said.code, said.err)
		}
	}
}

func TestALineThatCannotBeReadCostsItself(t *testing.T) {
	line := accessLine("http://a.example.com:80/")
	long := strings.Repeat("x", 3<<20) + "\n"
	for name, c := range map[string]struct {
		log  string
		err  string
		want int64
	}{
		"one of another format":                           {line + "10.0.0.1 - - GET\n" + line, ":2: number of fields: 4, fewer than the 23 up to actions_executed", 2},
		"one that is too long":                            {line + long + line + "bad\n", ":2: the line is longer than 1048576 bytes", 2},
		"one behind one too long":                         {line + long + line + "bad\n", ":4: number of fields: 1, fewer than the 23 up to actions_executed", 2},
		"one far behind":                                  {strings.Repeat(line, 3000) + "bad\n" + line, ":3001: number of fields: 1, fewer than the 23 up to actions_executed", 3001},
		"the last, which is cut off":                      {line + line[:200], ":2: number of fields: 22, fewer than the 23 up to actions_executed", 1},
		"the end of what is compressed, which is missing": {compressed(t, strings.Repeat(line, 3))[:60], ": unexpected EOF", 0},
		"many": {line + strings.Repeat("bad\n", 30), "error: 10 more lines could not be read", 1},
	} {
		t.Run(name, func(t *testing.T) {
			logs := directory(t, map[string]string{"a.log": c.log, "b.log": line})
			report, got := replayJSON(t, "", shop(t), "--logs", logs)
			if got.code != exitFail || !strings.Contains(got.err, c.err) || report.Summary.Compared != c.want+1 {
				t.Errorf("exit code %d, %d lines, want %d: %s", got.code, report.Summary.Compared, c.want+1, got.err)
			}
		})
	}
}

// TestLinesAreReplayedAgainstEachSource, and the effect of a change is that of the second one.
func TestLinesAreReplayedAgainstEachSource(t *testing.T) {
	repository(t, map[string]string{"a.yaml": ingressYAML("web", "a.example.com", "/")})
	write(t, "a.yaml", ingressYAML("web", "a.example.com", "/new"))
	old, now := shop(t), directory(t, map[string]string{"web.yaml": ingressYAML("web", "a.example.com", "/new")})
	log := directory(t, map[string]string{"a.log": accessLine("http://a.example.com:80/new") + accessLine("http://a.example.com:80/old")})
	for name, args := range map[string][]string{
		"two sets of files":             {old, "--change", now},
		"a revision":                    {"--base", "main", "a.yaml"},
		"two sets, the second named so": {"-f", old, "--change", filepath.Join(now, "web.yaml")},
	} {
		t.Run(name, func(t *testing.T) {
			report, got := replayJSON(t, "", append(args, "--logs", log)...)
			if got.code != exitDone || report.Change == nil || report.Change.Requests != 2 || report.Change.Changed != 1 {
				t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
			}
		})
	}
	state := filepath.Join(t.TempDir(), "state.json")
	write(t, state, fairlead(t, "plan", "--provider", "aws", old, "-o", "json").out)
	for _, args := range [][]string{{"--state", state, "--change", now}, {old, "--change", now, "--observed", state}} {
		report, got := replayJSON(t, "", append(args, "--logs", log)...)
		if told := args[0] == old; got.code != map[bool]int{true: exitToDo}[told] || report.Change.Changed != 1 || report.LoadBalancers[0].Priorities != told || report.LoadBalancers[0].Planned != told {
			t.Errorf("%q: exit code %d: %s%s", args, got.code, got.out, got.err)
		}
	}
	if report, got := replayJSON(t, "", now, "--logs", log); got.code != exitToDo || report.Summary.Disagreements != 1 || report.Change != nil {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
}

// TestLinesOfAnotherTimeAreLeftOut, and not compared: those before --since, and those at --until and
// after it.
func TestLinesOfAnotherTimeAreLeftOut(t *testing.T) {
	at := func(when string) string {
		return strings.Replace(accessLine("http://a.example.com:80/"), "2026-07-02T22:20:00.186641Z", when, 1)
	}
	log := directory(t, map[string]string{"a.log": at("2026-07-01T23:59:59.999999Z") + at("2026-07-02T00:00:00.000000Z") +
		at("2026-07-02T10:30:00.000000Z") + at("2026-07-02T10:30:00.000001Z") + at("2026-07-03T00:00:00.000000Z")})
	for name, c := range map[string]struct {
		args []string
		want int64
	}{
		"all":              {nil, 5},
		"a day":            {[]string{"--since", "2026-07-02", "--until", "2026-07-03"}, 3},
		"from a time on":   {[]string{"--since", "2026-07-02T10:30:00Z"}, 3},
		"before a time":    {[]string{"--until", "2026-07-02T10:30:00.000001Z"}, 3},
		"of another zone":  {[]string{"--since", "2026-07-02T12:30:00.000001+02:00"}, 2},
		"hours before now": {[]string{"--until", "1h", "--since", "1000000h"}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			report, got := replayJSON(t, "", append(c.args, shop(t), "--logs", log)...)
			if s := report.Summary; s.Lines != c.want || s.Compared != c.want || s.Untimely != 5-c.want || got.code != exitDone {
				t.Errorf("exit code %d, %+v, want %d lines; %s", got.code, s, c.want, got.err)
			}
		})
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no time":           {[]string{"--since", "yesterday"}, "--since yesterday: it must be a day such as 2026-07-02"},
		"a negative one":    {[]string{"--until", "-1h"}, "--until -1h: it must be a day"},
		"nothing between":   {[]string{"--since", "2026-07-03", "--until", "2026-07-03"}, "--until must be after --since"},
		"no line of a time": {[]string{"--since", "2026-07-04"}, "no line is of the time between --since and --until"},
	} {
		if _, got := replayJSON(t, "", append(c.args, shop(t), "--logs", log)...); got.code != exitFail || !strings.Contains(got.err, c.want) {
			t.Errorf("%s: exit code %d: %q, want %q", name, got.code, got.err, c.want)
		}
	}
	bad := directory(t, map[string]string{"a.log": at("now") + at("2026-07-05T00:00:00Z")})
	if report, got := replayJSON(t, "", shop(t), "--logs", bad, "--since", "2026-07-04"); got.code != exitFail || !strings.Contains(got.err, `a.log:1: time: "now" is no time`) || report.Summary.Compared != 1 {
		t.Errorf("exit code %d: %s", got.code, got.err)
	}
}

// TestRedirectsElsewhereAreShown with the URL that was logged and the one that is asked for.
func TestRedirectsElsewhereAreShown(t *testing.T) {
	line := strings.Replace(accessLine("http://a.example.com:80/x"), `"forward" "-"`, `"redirect" "https://b.example.com:443/x"`, 1)
	log := directory(t, map[string]string{"a.log": strings.Replace(line, " 200 200 ", " 301 - ", 1)})
	backend := "---\napiVersion: fairlead.dev/v1alpha1\nkind: Backend\nmetadata: {name: https, namespace: shop}\nspec: {redirect: {scheme: https, statusCode: 301}}\n"
	ingress := strings.Replace(ingressYAML("web", "a.example.com", "/"), "service: {name: web, port: {number: 80}}", "resource: {apiGroup: fairlead.dev, kind: Backend, name: https}", 1)
	got := fairlead(t, "replay", "--provider", "aws", directory(t, map[string]string{"a.yaml": ingress + backend}), "--logs", log)
	for _, want := range []string{"  expected: a.example.com Prefix /: redirect 301 https://#{host}:443/#{path}?#{query}, by Ingress shop/web", "a.log:1: GET http://a.example.com:80/x, redirected to https://b.example.com:443/x"} {
		if got.code != exitToDo || !strings.Contains(got.out, want) {
			t.Errorf("exit code %d, %q is missing: %s%s", got.code, want, got.out, got.err)
		}
	}
}

// TestALogWithTheNameOfAPatternIsAFile, if there is such a file.
func TestALogWithTheNameOfAPatternIsAFile(t *testing.T) {
	logs := directory(t, map[string]string{"a[1].log": accessLine("http://a.example.com:80/"), "a1.log": "nothing of a log\n"})
	if report, got := replayJSON(t, "", shop(t), "--logs", filepath.Join(logs, "a[1].log")); got.code != exitDone || report.Summary.Compared != 1 {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
	if _, got := replayJSON(t, "", shop(t), "--logs", filepath.Join(logs, "a[1]*.log")); !strings.Contains(got.err, "a1.log") {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
}

func TestWrongUsesOfReplay(t *testing.T) {
	dir, log := shop(t), directory(t, map[string]string{"a.log": accessLine("http://a.example.com:80/")})
	two := directory(t, map[string]string{"two.yaml": ingressYAML("web", "a.example.com", "/") + "---\n" + ingressYAML("api", "b.example.com", "/") + "---\n" + serviceYAML})
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no logs":                     {[]string{dir}, "no logs are given: --logs names"},
		"no Ingresses":                {[]string{"--logs", log}, "no Ingresses are given"},
		"a file that is not there":    {[]string{dir, "--logs", "none.log"}, "reading logs: none.log: no such file"},
		"a pattern without files":     {[]string{dir, "--logs", "none*.log"}, "there is no such file"},
		"two kinds of changes":        {[]string{dir, "--logs", log, "--base", "HEAD", "--change", dir}, "none of the others can be"},
		"a key that is not there":     {[]string{dir, "--logs", log, "--load-balancer", "web=none"}, "--load-balancer web=none: it must be a name in logs"},
		"a load balancer not known":   {[]string{two, "--logs", log}, "--load-balancer says which name one has in logs"},
		"a state that is not there":   {[]string{dir, "--logs", log, "--observed", "none.json"}, "none.json"},
		"a directory without any log": {[]string{dir, "--logs", t.TempDir()}, "there are no files in it"},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := replayJSON(t, "", c.args...)
			if got.code != exitFail || !strings.Contains(got.err, c.want) {
				t.Errorf("exit code %d: %q, want %q", got.code, got.err, c.want)
			}
		})
	}
	if report, got := replayJSON(t, "", two, "--logs", log, "--load-balancer", "web=fairlead/shop/web/internal"); got.code != exitDone || report.Summary.Compared != 1 {
		t.Errorf("exit code %d: %s%s", got.code, got.out, got.err)
	}
}

// TestTheTextIsShortened to --top.
func TestTheTextIsShortened(t *testing.T) {
	var yaml, log strings.Builder
	for i := range 5 {
		yaml.WriteString(ingressYAML(fmt.Sprintf("web-%d", i), "a.example.com", fmt.Sprintf("/p%d", i)) + "---\n")
		log.WriteString(strings.Repeat(accessLine(fmt.Sprintf("http://a.example.com:80/p%d", i)), 1000*(i+1)))
	}
	group := strings.ReplaceAll(yaml.String(), "namespace: shop}", `namespace: shop, annotations: {fairlead.dev/group: all}}`)
	dir := directory(t, map[string]string{"all.yaml": group + serviceYAML})
	logs := directory(t, map[string]string{"a.log.gz": compressed(t, log.String())})
	got := fairlead(t, "replay", "--provider", "aws", dir, "--logs", logs, "--top", "2")
	for _, want := range []string{"fairlead/shop/@all/internal: 15,000 lines; priorities of rules are not known, and not compared", "       5,000 ", "/p4", "3 more paths; --top or -o json has them", "Summary: 15,000 lines, 15,000 compared, 0 disagree"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing in %s%s", want, got.out, got.err)
		}
	}
	if strings.Contains(got.out, "/p1") || got.code != exitDone {
		t.Errorf("exit code %d: %s", got.code, got.out)
	}
}

// TestALogOfSomethingElseIsToldOnce: one problem says of a whole file that it is no access log of an
// ALB. Another file is read nevertheless, and a file with some readable lines is one.
func TestALogOfSomethingElseIsToldOnce(t *testing.T) {
	nginx := strings.Repeat(`192.0.2.7 - - [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 2326 "-" "curl/8.5.0"`+"\n", 500)
	good := accessLine("http://a.example.com:80/")
	dir := directory(t, map[string]string{"a-nginx.log": nginx, "b-alb.log": good, "c-mixed.log": good + "cut off\n"})
	got := fairlead(t, "replay", "--provider", "aws", "--logs", dir, shop(t))
	want := []string{
		"a-nginx.log: it is no access log of an Application Load Balancer: none of its 500 lines can be read; line 1: number of fields: ",
		"c-mixed.log:2: number of fields: 2, fewer than",
	}
	if got.code != exitFail || strings.Count(got.err, "\n") != len(want) {
		t.Errorf("exit code %d, told %s", got.code, got.err)
	}
	for _, line := range want {
		if !strings.Contains(got.err, line) {
			t.Errorf("%q is not told: %s", line, got.err)
		}
	}
}
