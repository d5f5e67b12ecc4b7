package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"fairlead.dev/fairlead/cli/output"
)

// This file has help fit the terminal. The texts of commands flow: their lines are broken anew.

// fitHelp has the help of a command, and of those below it, be as wide as the terminal.
func fitHelp(root *cobra.Command) {
	printHelp := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := cmd.OutOrStdout()
		width := output.Width(out)
		before := "  " + strings.TrimSuffix(cmd.CommandPath(), cmd.Name())
		line := output.Fill(before+cmd.Use, output.Words, "      ", "", width-len(" [flags]"))
		cmd.Use = strings.TrimPrefix(line, before)
		cmd.Long = flow(cmd.Long, width)
		cmd.Example = flowExamples(cmd.Example, width)
		for _, below := range cmd.Commands() {
			name := fmt.Sprintf("  %-*s ", below.NamePadding(), below.Name())
			line := output.Fill(name+below.Short, afterName, strings.Repeat(" ", len(name)), "", width)
			below.Short = strings.TrimPrefix(line, name)
		}
		var text strings.Builder
		cmd.SetOut(&text)
		printHelp(cmd, args)
		fmt.Fprint(out, flowFlags(text.String(), width))
	})
}

// usageColumn is where the texts begin that say what flags are for.
const usageColumn = 28

// The words of lines.
var (
	afterName = regexp.MustCompile(`^ +[^ ]+ +[^ ]+|[^ ]+`)
	afterFlag = regexp.MustCompile(fmt.Sprintf(`^.{%d}[^ ]+|[^ ]+`, usageColumn))
	quoted    = regexp.MustCompile(`^ +[^ ]+|('[^']*'|[^ '])+`) // text in quotes is one word
)

// flow breaks the lines of paragraphs anew. Lines that begin with white space stay as they are.
func flow(text string, width int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if strings.TrimLeft(p, " \t") == p {
			paragraphs[i] = output.Fill(strings.ReplaceAll(p, "\n", " "), output.Words, "", "", width)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// flowExamples breaks long comments, and long commands as a shell takes them.
func flowExamples(text string, width int) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "  # ") {
			line = output.Fill(line, output.Words, "  # ", "", width)
		} else {
			line = output.Fill(line, quoted, "      ", ` \`, width)
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// flagLine is what pflag prints of a flag: its name with its value, and what it is for.
var flagLine = regexp.MustCompile(`(?m)^( +(?:-\w, )?--\S+(?: \S+)?)  +(.+)$`)

// flowFlags puts what flags are for into a column of its own, below the names of those that are long.
func flowFlags(text string, width int) string {
	return flagLine.ReplaceAllStringFunc(text, func(line string) string {
		found := flagLine.FindStringSubmatch(line)
		name, usage, indent := found[1], found[2], strings.Repeat(" ", usageColumn)
		if len(name) > usageColumn-2 {
			return name + "\n" + output.Fill(indent+usage, afterFlag, indent, "", width)
		}
		return output.Fill(fmt.Sprintf("%-*s%s", usageColumn, name, usage), afterFlag, indent, "", width)
	})
}
