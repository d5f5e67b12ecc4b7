package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/cli/manifests"
)

// A flag wins over the environment, which wins over the file, which wins over the default. A value
// is checked wherever it stands, and a name that is no setting is an error: a misspelt one would
// change nothing, without a word.

// A given value is one that was set for a setting.
type given struct{ setting, value, from string }

// addSettings adds settings to a command, and a flag that prints them.
func addSettings(cmd *cobra.Command, settings *pflag.FlagSet) {
	addSomeSettings(cmd, settings, func(string) bool { return true })
	const usage = "print each setting and where it comes from, and do nothing else"
	cmd.Flags().Bool("print-config", false, usage)
}

// addSomeSettings adds those settings to a command that it uses, and the flag for their file.
func addSomeSettings(cmd *cobra.Command, settings *pflag.FlagSet, uses func(name string) bool) {
	cmd.Flags().SortFlags = false
	settings.VisitAll(func(f *pflag.Flag) {
		if !uses(f.Name) {
			return
		}
		cmd.Flags().AddFlag(f)
		if c, ok := f.Value.(flagvalue.Choice); ok {
			flagvalue.Complete(cmd, f.Name, c.Values...)
		}
	})
	usage := "`FILE` of settings in YAML, by the names of these flags; also " + settingVariable("config")
	cmd.Flags().String("config", "", usage)
	flagvalue.Must(cmd.MarkFlagFilename("config", "yaml", "yml", "json"))
}

// resolveSettings sets each setting to the value that wins. It returns the sources of the settings that
// have one.
func resolveSettings(
	cmd *cobra.Command, settings *pflag.FlagSet, environ []string,
) (map[string]string, error) {
	byFlag, byVariable := flagsGiven(settings), variablesGiven(environ)
	file, err := cmd.Flags().GetString("config")
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(byVariable, func(g given) bool {
		return g.setting == "config"
	}); at >= 0 {
		if !cmd.Flags().Changed("config") {
			file = byVariable[at].value
		}
		byVariable = slices.Delete(byVariable, at, at+1)
	}
	byFile, err := fileGiven(file)
	if err != nil {
		return nil, err
	}
	from := map[string]string{}
	var problems []error
	for _, g := range slices.Concat(byFile, byVariable, byFlag) { // the last one wins
		f := settings.Lookup(g.setting)
		if f == nil {
			problems = append(problems,
				fmt.Errorf("%s: there is no such setting%s", g.from, meantAmong("", settingNames(settings), g.setting)))
			continue
		}
		if several, ok := f.Value.(interface{ Reset() }); ok {
			several.Reset()
		}
		if err := f.Value.Set(g.value); err != nil {
			problems = append(problems, invalid(g.from, g.value, err))
		}
		from[g.setting] = g.from
	}
	return from, errors.Join(problems...)
}

func flagsGiven(settings *pflag.FlagSet) (out []given) {
	settings.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			out = append(out, given{f.Name, f.Value.String(), "--" + f.Name})
		}
	})
	return out
}

const variablePrefix = "FAIRLEAD_"

// settingVariable returns the name of a setting in the environment.
func settingVariable(setting string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

// link matches the variables that Kubernetes makes of a Service whose name begins with fairlead.
var link = regexp.MustCompile(
	`^FAIRLEAD_(\w+_)?(SERVICE_(HOST|PORT)(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

func variablesGiven(environ []string) (out []given) {
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		rest, ours := strings.CutPrefix(name, variablePrefix)
		if !ours || link.MatchString(name) {
			continue
		}
		out = append(out, given{strings.ToLower(strings.ReplaceAll(rest, "_", "-")), value, name})
	}
	return out
}

func fileGiven(file string) ([]given, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the settings: %w", err)
	}
	var values map[string]json.RawMessage
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		return nil, fmt.Errorf("%s: reading the settings: %s", file, manifests.OneLine(err.Error()))
	}
	var out []given
	for name, raw := range values {
		value := string(raw)
		switch raw[0] {
		case '"':
			if err := json.Unmarshal(raw, &value); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", file, name, err)
			}
		case '{', '[', 'n':
			return nil, fmt.Errorf("%s: %s: it has to be one value", file, name)
		}
		out = append(out, given{name, value, file + ": " + name})
	}
	slices.SortFunc(out, func(a, b given) int { return strings.Compare(a.setting, b.setting) })
	return out, nil
}

// FlagError returns the error of a flag in the words that other sources of settings have.
func FlagError(flags *pflag.FlagSet, err error) error {
	var value *pflag.InvalidValueError
	var name *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		return invalid("--"+value.GetFlag().Name, value.GetValue(), value.Unwrap())
	case errors.As(err, &name) && name.GetSpecifiedShortnames() == "":
		return fmt.Errorf("--%s: there is no such flag%s", name.GetSpecifiedName(),
			meantAmong("--", settingNames(flags), name.GetSpecifiedName()))
	}
	return err
}

func invalid(from, value string, err error) error {
	if number := (*strconv.NumError)(nil); errors.As(err, &number) {
		err = number.Err // without the value, which is printed already
	}
	return fmt.Errorf("%s: %q: %w", from, value, err)
}

func settingNames(settings *pflag.FlagSet) (out []string) {
	settings.VisitAll(func(f *pflag.Flag) { out = append(out, f.Name) })
	return out
}

// meantAmong asks whether the most similar of some names was meant, if one is similar. The prefix is
// printed before it.
func meantAmong(prefix string, names []string, name string) string {
	best, fewest := "", 1+len(name)/2
	for _, known := range names {
		if n := edits(known, name); n < fewest {
			best, fewest = known, n
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + prefix + best + "?"
}

// edits returns the number of letters to insert, delete or replace that turn one word into another.
func edits(a, b string) int {
	row := make([]int, len(b)+1) // the edits from the letters of a so far to each prefix of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// printSettings prints the settings as a file, with the source of each in a comment.
func printSettings(w io.Writer, settings *pflag.FlagSet, from map[string]string) error {
	var problems []error
	settings.VisitAll(func(f *pflag.Flag) {
		value := f.Value.String()
		if kind := f.Value.Type(); kind != "bool" && kind != "int" && kind != "float64" {
			quoted, err := yaml.Marshal(value)
			problems = append(problems, err)
			value = strings.TrimSpace(string(quoted))
		}
		source, set := from[f.Name]
		if !set {
			source = "default"
		}
		_, err := fmt.Fprintf(w, "%-40s # %s\n", f.Name+": "+value, source)
		problems = append(problems, err)
	})
	return errors.Join(problems...)
}
