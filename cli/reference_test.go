package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/cli/operator"
	"fairlead.dev/fairlead/test/page"
)

// This file writes the reference pages of the operator's settings, from their table, and of check,
// and checks that the committed pages are the same.

//go:generate go test -short . -run ^Test(Reference|ConditionsReference|SchemasReference|Transcripts|MigrateReports|MigrateWrites)$ -update

func TestReference(t *testing.T) {
	page.Check(t, "../docs/reference/run.md", runPage())
	page.Check(t, "../docs/reference/check.md", checkPage())
	for _, name := range []string{"plan", "diff", "verify", "replay", "explain", "status", "ui", "validate", "migrate", "adopt", "release"} {
		page.Check(t, "../docs/reference/"+name+".md", commandPage(name, "cli/"+name+".go"))
	}
	page.Check(t, "../docs/reference/serve-provider.md", commandPage("serve-provider", "cli/serveprovider.go"))
	page.Check(t, "../docs/reference/provider-check.md", commandPage("provider check", "cli/providercheck.go"))
}

// checkPage is what the help of check says.
func checkPage() string {
	return commandPage("check", "cli/check.go") + "\nWhat is looked at in AWS, with an example of each line: [before and after installing](../how-to/check.md).\n"
}

// commandPage is what the help of a command says.
func commandPage(name, source string) string {
	var b strings.Builder
	with := testProviders()
	cmd, _, err := newRoot(with).Find(strings.Fields(name))
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(&b, "# fairlead %s\n\n<!-- Generated from %s by \"make generate\". -->\n\n", name, source)
	b.WriteString(cmd.Long + "\n\n```\n" + cmd.Example + "\n```\n\n| Flag | Default | Meaning |\n|---|---|---|\n")
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name, unset, usage := described(f)
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, unset, usage)
	})
	return b.String()
}

func runPage() string {
	var b strings.Builder
	b.WriteString(`# Settings of the operator

Each setting of ` + "`fairlead run`" + ` is a flag, a variable of the environment and a key of the YAML file that
` + "`--config`, or `FAIRLEAD_CONFIG`," + ` names. A flag wins over the environment, the environment over the
file, and the file over the default. A value is checked wherever it stands. A key that is no setting
is an error, and so is a variable that begins with ` + "`FAIRLEAD_`" + `, unless Kubernetes made it of a Service.

` + "`fairlead run --print-config`" + ` prints what holds, and where each value comes from, as such a file.

<!-- Generated from cli/operator/settings.go by "make generate". -->

| Flag and key | Variable | Default | Meaning |
|---|---|---|---|
`)
	all := testProviders()
	new(operator.Settings).Flags(all.Clouds).VisitAll(func(f *pflag.Flag) {
		name, unset, usage := described(f)
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", name, settingVariable(f.Name), unset, usage)
	})
	return b.String()
}

// described returns how a flag is given, its default and what it means.
func described(f *pflag.Flag) (name, unset, usage string) {
	name = "`--" + f.Name
	if f.Shorthand != "" {
		name = "`-" + f.Shorthand + "`, " + name
	}
	kind, usage := pflag.UnquoteUsage(f)
	switch {
	case kind != "" && f.NoOptDefVal != "":
		name += "[=" + kind + "]"
	case kind != "":
		name += " " + kind
	}
	if unset = f.DefValue; unset != "" {
		unset = "`" + unset + "`"
	}
	return name + "`", unset, usage
}
