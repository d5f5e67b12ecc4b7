package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/cli/operator"
	"fairlead.dev/fairlead/model/ingress"
)

// TestSettingsCanBeMadeAnywhere sets every row of the table in each place.
func TestSettingsCanBeMadeAnywhere(t *testing.T) {
	other := func(f *pflag.Flag) string { // a value that is not the default
		switch c, ok := f.Value.(flagvalue.Choice); {
		case ok && len(c.Values) > 1:
			return c.Values[slices.IndexFunc(c.Values, func(v string) bool { return v != f.DefValue })]
		case ok:
			return c.Values[0]
		case f.Name == "aws-rates":
			return "write=3.5/7"
		}
		return map[string]string{"bool": "true", "duration": "1h23m0s", "string": "1.2.3.4:5", "int": "7", "name": "theirs", "float64": "7.5", "list": "public/@edge/internal,public/shop/web/internal", "groups": "none", "directory": os.TempDir(), "providers": "aws,edge=https://edge.example.com:8443", "": "192.0.2.0/24"}[f.Value.Type()]
	}
	places := map[string]func(t *testing.T, name, value string) []string{
		"flag": func(_ *testing.T, name, value string) []string { return []string{"--" + name + "=" + value} },
		"environment": func(t *testing.T, name, value string) []string {
			t.Setenv(settingVariable(name), value)
			return nil
		},
		"file": func(t *testing.T, name, value string) []string {
			return []string{"--config", filepath.Join(directory(t, map[string]string{"f.yaml": name + ": " + value}), "f.yaml")}
		},
		"file that the environment names": func(t *testing.T, name, value string) []string {
			t.Setenv("FAIRLEAD_CONFIG", filepath.Join(directory(t, map[string]string{"f.yaml": name + ": " + value}), "f.yaml"))
			return nil
		},
	}
	for place, set := range places {
		new(operator.Settings).Flags(testProviders().Clouds).VisitAll(func(f *pflag.Flag) {
			t.Run(f.Name+" by "+place, func(t *testing.T) {
				value := other(f)
				got := fairlead(t, append([]string{"run", "--print-config"}, set(t, f.Name, value)...)...)
				if got.code != exitDone || !strings.Contains(got.out, "\n"+f.Name+": "+value+" ") && !strings.HasPrefix(got.out, f.Name+": "+value+" ") {
					t.Errorf("it is not %s: %+v", value, got)
				}
			})
		})
	}
}

func TestSettingsWin(t *testing.T) {
	cases := map[string]struct {
		args      []string
		variables map[string]string
		file      string
		want      string // the line of drift-interval
	}{
		"nobody sets it":                        {want: "10h0m0s # default"},
		"the file":                              {file: "drift-interval: 1h", want: "1h0m0s # FILE: drift-interval"},
		"the environment over the file":         {file: "drift-interval: 1h", variables: map[string]string{"FAIRLEAD_DRIFT_INTERVAL": "2h"}, want: "2h0m0s # FAIRLEAD_DRIFT_INTERVAL"},
		"a flag over all":                       {file: "drift-interval: 1h", variables: map[string]string{"FAIRLEAD_DRIFT_INTERVAL": "2h"}, args: []string{"--drift-interval=3h"}, want: "3h0m0s # --drift-interval"},
		"a flag that says what the default is":  {file: "drift-interval: 1h", args: []string{"--drift-interval=10h"}, want: "10h0m0s # --drift-interval"},
		"the last of two flags":                 {args: []string{"--drift-interval=3h", "--drift-interval=4h"}, want: "4h0m0s # --drift-interval"},
		"an empty file":                         {file: "# nothing yet\n", want: "10h0m0s # default"},
		"what Kubernetes makes of our Services": {variables: map[string]string{"FAIRLEAD_PORT": "tcp://10.0.0.1:443", "FAIRLEAD_WEBHOOK_SERVICE_PORT_HTTPS": "443", "FAIRLEAD_WEBHOOK_PORT_443_TCP_ADDR": "10.0.0.1"}, want: "10h0m0s # default"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.variables {
				t.Setenv(k, v)
			}
			file := filepath.Join(directory(t, map[string]string{"f.yaml": c.file}), "f.yaml")
			got := fairlead(t, append([]string{"run", "--print-config", "--config", file}, c.args...)...)
			want := "drift-interval: " + strings.ReplaceAll(c.want, "FILE", file)
			if said := strings.Join(strings.Fields(got.out), " "); !strings.Contains(said, want) {
				t.Errorf("%q is not in what it prints: %+v", want, got)
			}
		})
	}
}

func TestSettingsThatAreWrong(t *testing.T) {
	cases := map[string]struct {
		args      []string
		variables map[string]string
		file      string
		want      []string // a line each
	}{
		"a flag that nobody knows":     {args: []string{"--drift-intervall=1h"}, want: []string{"--drift-intervall: there is no such flag; did you mean --drift-interval?"}},
		"a variable that nobody knows": {variables: map[string]string{"FAIRLEAD_NAMESPCE": "x"}, want: []string{"FAIRLEAD_NAMESPCE: there is no such setting; did you mean namespace?"}},
		"a key that nobody knows":      {file: "log_format: json", want: []string{"FILE: log_format: there is no such setting; did you mean log-format?"}},
		"a key that is like none":      {file: "x: 1", want: []string{"FILE: x: there is no such setting"}},
		"a file in a file":             {file: "config: other.yaml", want: []string{"FILE: config: there is no such setting"}},
		"a choice, everywhere": {
			args: []string{"--secrets=all"}, variables: map[string]string{"FAIRLEAD_SECRETS": "most"}, file: "secrets: some",
			want: []string{`FILE: secrets: "some": it can be all, labelled or none`, `FAIRLEAD_SECRETS: "most": it can be all, labelled or none`},
		},
		"no truth":                {variables: map[string]string{"FAIRLEAD_LEADER_ELECT": "perhaps"}, want: []string{`FAIRLEAD_LEADER_ELECT: "perhaps": invalid syntax`}},
		"no duration in a file":   {file: "drift-interval: 5 hours", want: []string{`FILE: drift-interval: "5 hours": reading a duration like 90s or 1h30m: `}},
		"no duration in a flag":   {args: []string{"--drift-interval", "5"}, want: []string{`--drift-interval: "5": reading a duration like 90s or 1h30m: `}},
		"never":                   {args: []string{"--drift-interval", "0s"}, want: []string{`--drift-interval: "0s": it has to be more than zero`}},
		"several values":          {file: "namespace: [a, b]", want: []string{"FILE: namespace: it has to be one value"}},
		"no value":                {file: "namespace:", want: []string{"FILE: namespace: it has to be one value"}},
		"the same key twice":      {file: "namespace: a\nnamespace: b", want: []string{`FILE: reading the settings: `}},
		"a file that is no table": {file: "- a", want: []string{`FILE: reading the settings: `}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for k, v := range c.variables {
				t.Setenv(k, v)
			}
			file := filepath.Join(directory(t, map[string]string{"f.yaml": c.file}), "f.yaml")
			got := fairlead(t, append([]string{"run", "--print-config", "--config", file}, c.args...)...)
			lines := slices.Collect(strings.Lines(got.err))
			if got.code != exitFail || len(lines) < len(c.want) {
				t.Fatalf("want %q, got %+v", c.want, got)
			}
			for i, want := range c.want {
				if want = "error: " + strings.ReplaceAll(want, "FILE", file); !strings.HasPrefix(lines[i], want) {
					t.Errorf("it says %q, want %q", lines[i], want)
				}
			}
		})
	}
	got := fairlead(t, "run", "--config", "not-there.yaml")
	if got.code != exitFail || !strings.Contains(got.err, "reading the settings: open not-there.yaml") {
		t.Errorf("a file that is not there: %+v", got)
	}
}

// TestPrintedSettingsAreAFile: what is printed can be kept, and says the same when it is read.
func TestPrintedSettingsAreAFile(t *testing.T) {
	args := []string{"run", "--print-config", "--metrics-bind-address", "0", "--namespace", "shop: #1", "-v", "--shutdown-timeout", "1m"}
	first := fairlead(t, args...)
	file := filepath.Join(directory(t, map[string]string{"f.yaml": first.out}), "f.yaml")
	second := fairlead(t, "run", "--print-config", "--config", file)
	if first.code != exitDone || second.code != exitDone {
		t.Fatalf("%+v\n%+v", first, second)
	}
	values := func(printed string) (out []string) {
		for line := range strings.Lines(printed) {
			out = append(out, strings.TrimSpace(line[:strings.LastIndex(line, " # ")]))
		}
		return out
	}
	if diff := cmp.Diff(values(first.out), values(second.out)); diff != "" {
		t.Errorf("read again, it says (-first +second):\n%s", diff)
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"lease", "leases", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2}} {
		if got := edits(c.a, c.b); !reflect.DeepEqual(got, c.want) {
			t.Errorf("edits(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestTheClassOfIngressesWithoutOne(t *testing.T) {
	for _, c := range []struct {
		args      []string
		variables map[string]string
		file      string
		want      ingress.ClassOptions // with an error if all of it is empty
	}{
		{},
		{args: []string{"--watch-ingress-without-class=false"}},
		{args: []string{"--watch-ingress-without-class=public"}, want: ingress.ClassOptions{WithoutClass: "public"}},
		{args: []string{"--watch-ingress-without-class", "--manage-ingress-class"}, want: ingress.ClassOptions{WithoutClass: "fairlead", ManagedClass: "fairlead"}},
		{args: []string{"--watch-ingress-without-class=true", "--manage-ingress-class=mine"}, want: ingress.ClassOptions{WithoutClass: "mine", ManagedClass: "mine"}},
		{args: []string{"--watch-ingress-without-class=public", "--manage-ingress-class=mine"}, want: ingress.ClassOptions{WithoutClass: "public", ManagedClass: "mine"}},
		{file: "watch-ingress-without-class: true\nmanage-ingress-class: mine", want: ingress.ClassOptions{WithoutClass: "mine", ManagedClass: "mine"}},
		{file: "watch-ingress-without-class: public\ningress-class-literal: edge", want: ingress.ClassOptions{WithoutClass: "public", Literal: "edge"}},
		{file: "watch-ingress-without-class: true", variables: map[string]string{"FAIRLEAD_WATCH_INGRESS_WITHOUT_CLASS": "public"}, want: ingress.ClassOptions{WithoutClass: "public"}},
		{file: "watch-ingress-without-class: public", variables: map[string]string{"FAIRLEAD_WATCH_INGRESS_WITHOUT_CLASS": "false"}},
		{file: "ingress-class-literal: edge", args: []string{"--ingress-class-literal="}},
		{file: "watch-ingress-without-class: public", variables: map[string]string{"FAIRLEAD_MANAGE_INGRESS_CLASS": "true"}, args: []string{"--watch-ingress-without-class"}, want: ingress.ClassOptions{WithoutClass: "fairlead", ManagedClass: "fairlead"}},
	} {
		t.Run(strings.Join(append(c.args, c.file), " "), func(t *testing.T) {
			var o operator.Settings
			settings := o.Flags(testProviders().Clouds)
			cmd := &cobra.Command{Use: "run", Run: func(*cobra.Command, []string) {}}
			addSettings(cmd, settings)
			file := filepath.Join(directory(t, map[string]string{"f.yaml": c.file}), "f.yaml")
			if err := cmd.ParseFlags(append([]string{"--config", file}, c.args...)); err != nil {
				t.Fatal(err)
			}
			var environ []string
			for k, v := range c.variables {
				environ = append(environ, k+"="+v)
			}
			if _, err := resolveSettings(cmd, settings, environ); err != nil {
				t.Fatal(err)
			}
			got, err := o.Classes()
			c.want.Providers, c.want.Called = []string{"fake"}, map[string]string{"fake": "the load balancer"}
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v and %v, want %+v", got, err, c.want)
			}
		})
	}
	for _, args := range [][]string{{"--watch-ingress-without-class"}, {"--watch-ingress-without-class=true", "--manage-ingress-class=false"}} {
		got := fairlead(t, append([]string{"run", "--kubeconfig", "not-there"}, args...)...)
		if got.code != exitFail || !strings.Contains(got.err, "--watch-ingress-without-class: under which IngressClass?") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	for _, args := range [][]string{{"--ingress-class-literal=true"}, {"--ingress-class-literal"}, {"--ingress-class-literal=Fair lead"}, {"--watch-ingress-without-class=a/b"}} {
		if got := fairlead(t, append([]string{"run", "--print-config"}, args...)...); got.code != exitFail {
			t.Errorf("%v: %+v", args, got)
		}
	}
	for given, want := range map[string]string{"--watch-ingress-without-class": `"true"`, "--watch-ingress-without-class=public": "public", "--ingress-class-literal=edge": "edge"} {
		name, _, _ := strings.Cut(strings.TrimPrefix(given, "--"), "=")
		if got := fairlead(t, "run", "--print-config", given); !strings.Contains(got.out, name+": "+want+" ") {
			t.Errorf("%s: want %s in %+v", given, want, got)
		}
	}
}

func TestManageIngressClassIsANameOrYes(t *testing.T) {
	for given, want := range map[string]string{
		"--manage-ingress-class": "fairlead", "--manage-ingress-class=true": "fairlead", "--manage-ingress-class=theirs": "theirs", "--manage-ingress-class=false": `""`,
	} {
		got := fairlead(t, "run", "--print-config", given)
		if !strings.Contains(got.out, "manage-ingress-class: "+want+" ") {
			t.Errorf("%s: want %s in %+v", given, want, got)
		}
	}
}
