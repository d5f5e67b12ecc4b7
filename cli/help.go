package cli

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

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
		line := fill(before+cmd.Use, spaces, "      ", "", width-len(" [flags]"))
		cmd.Use = strings.TrimPrefix(line, before)
		cmd.Long = flow(cmd.Long, width)
		cmd.Example = flowExamples(cmd.Example, width)
		for _, below := range cmd.Commands() {
			name := fmt.Sprintf("  %-*s ", below.NamePadding(), below.Name())
			line := fill(name+below.Short, afterName, strings.Repeat(" ", len(name)), "", width)
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
	spaces    = regexp.MustCompile(`^ +[^ ]+|[^ ]+`)
	afterName = regexp.MustCompile(`^ +[^ ]+ +[^ ]+|[^ ]+`)
	afterFlag = regexp.MustCompile(fmt.Sprintf(`^.{%d}[^ ]+|[^ ]+`, usageColumn))
	quoted    = regexp.MustCompile(`^ +[^ ]+|('[^']*'|[^ '])+`) // text in quotes is one word
)

// flow breaks the lines of paragraphs anew. Lines that begin with white space stay as they are.
func flow(text string, width int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if strings.TrimLeft(p, " \t") == p {
			paragraphs[i] = fill(strings.ReplaceAll(p, "\n", " "), spaces, "", "", width)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// flowExamples breaks long comments, and long commands as a shell takes them.
func flowExamples(text string, width int) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "  # ") {
			line = fill(line, spaces, "  # ", "", width)
		} else {
			line = fill(line, quoted, "      ", ` \`, width)
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
			return name + "\n" + fill(indent+usage, afterFlag, indent, "", width)
		}
		return fill(fmt.Sprintf("%-*s%s", usageColumn, name, usage), afterFlag, indent, "", width)
	})
}

// fill breaks a line between words, so that no line has more characters than width. Lines after the first
// one begin with an indent; all but the last one end in the same way.
func fill(line string, words *regexp.Regexp, indent, end string, width int) string {
	var out strings.Builder
	column := 0
	for i, word := range words.FindAllString(line, -1) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+n+utf8.RuneCountInString(end) > width:
			out.WriteString(end + "\n" + indent)
			column = utf8.RuneCountInString(indent)
		default:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += n
	}
	return out.String()
}
