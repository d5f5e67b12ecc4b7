// Command man writes the manual pages of all commands to a directory. It is a module of its own, so
// that the binary does not link what formats them.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"fairlead.dev/fairlead/cli"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/fake"
)

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: man DIR"))
	}
	if err := write(os.Args[1]); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "man:", err)
	os.Exit(1)
}

// write writes a page for each command.
func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root := cli.Command(cli.Providers{Clouds: map[string]clouds.Cloud{
		"aws":  aws.Plug(),
		"fake": fake.Plug(),
	}})
	prepare(root)
	header := &doc.GenManHeader{Title: "FAIRLEAD", Section: "1", Source: "Fairlead", Manual: "Fairlead"}
	return doc.GenManTree(root, header, dir)
}

// prepare leaves the date out, so that equal sources give equal pages, and indents examples, which
// are preformatted.
func prepare(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	if cmd.Example != "" {
		cmd.Example = "    " + strings.ReplaceAll(cmd.Example, "\n", "\n    ")
	}
	for _, below := range cmd.Commands() {
		prepare(below)
	}
}
