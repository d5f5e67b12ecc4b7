package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/cli/program"
	"fairlead.dev/fairlead/cli/source"
	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/ingress"
)

// This file holds exit codes, the errors that stand for them, and what several commands
// decide them by. Run in command.go makes one of an error.

// Exit codes. A script can tell a plan with steps from one without, and both from a failure.
const (
	exitDone = 0
	exitFail = 1
	exitToDo = 2
	exitLess = 3
)

// errToDo ends plan where there is something to do, and explain --all where an Ingress is not
// served as asked.
var errToDo = errors.New("there is something to do")

// errLessProtected ends diff where something is less protected, or may be.
var errLessProtected = errors.New("something is less protected")

// errRefused ends migrate where an Ingress is refused.
var errRefused = errors.New("an Ingress is refused")

// errWrong ends a command that found something wrong, and has printed it.
var errWrong = errors.New("something is wrong")

// The values of --fail-on.
const (
	failOnInfo    = "info"
	failOnError   = "error"
	failOnWarning = "warning"
	failOnNever   = "never"
)

// failOnFlag adds the flag that says which diagnostics fail a command; unset is its default, in
// words.
func failOnFlag(cmd *cobra.Command, least *string, unset string) {
	values := []string{failOnError, failOnWarning, failOnInfo, failOnNever}
	cmd.Flags().Var(flagvalue.OneOf(least, "", values...), "fail-on",
		"the least `SEVERITY` of diagnostics that fails the command: "+
			flagvalue.Names(values)+"; unset: "+unset)
	flagvalue.Complete(cmd, "fail-on", values...)
}

// failing reports whether a diagnostic fails a command.
func failing(d diag.Diagnostic, least string) bool {
	switch least {
	case failOnError, "":
		return d.Severity == diag.Error
	case failOnWarning:
		return d.Severity != diag.Info
	case failOnInfo:
		return true
	}
	return false
}

// leftOut returns the error of a command that did its work without some objects: their problems,
// each with its file and line.
func leftOut(problems manifests.Problems) error {
	if len(problems) == 0 {
		return nil
	}
	return errors.Join(problems.Unwrap()...)
}

// notServed returns the reasons why Ingresses of files are left out, or that none is served, in
// words for where they are.
func notServed(in *source.Input, served int, diagnostics []diag.Diagnostic, where string) []string {
	out := []string{}
	for _, class := range program.MissingClasses(diagnostics) {
		if !in.NamesClasses() {
			out = append(out, fmt.Sprintf("Ingresses name the class %s, which is not among the files: "+
				"%s assumes it, and --class-name=false leaves such Ingresses alone",
				class, program.Assuming(class, "")))
		}
	}
	if names := program.WithoutClass(diagnostics); len(names) > 0 && !in.NamesClasses() {
		out = append(out, fmt.Sprintf("%s names no class, and the default class of the cluster is not "+
			"among the files: --watch-ingress-without-class=%[2]s serves such Ingresses, and "+
			"--class-name=%[2]s leaves them alone", someOf(names), ingress.DefaultClass))
	}
	if served == 0 {
		out = append(out, "no Ingress is served"+where)
	}
	return out
}

// someOf returns the first of the names, and how many there are more.
func someOf(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s, and each of %d more,", names[0], len(names)-1)
}

// errNotServed returns reasons as an error; nil without any.
func errNotServed(reasons []string) error {
	if len(reasons) == 0 {
		return nil
	}
	return errors.New(strings.Join(reasons, "; "))
}
