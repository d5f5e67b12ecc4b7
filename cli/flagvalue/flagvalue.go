// Package flagvalue holds the types of flags: each checks its value as it is set, wherever the
// value comes from.
package flagvalue

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// checked is a flag that is read and checked as it is set.
type checked[T any] struct {
	value *T
	kind  string
	print func(T) string
	read  func(string) (T, error)
}

func (c checked[T]) String() string {
	if c.value == nil {
		return "" // of the zero value, which pflag asks for
	}
	return c.print(*c.value)
}

func (c checked[T]) Set(text string) error {
	value, err := c.read(text)
	if err == nil {
		*c.value = value
	}
	return err
}

func (c checked[T]) Type() string { return c.kind }

func asItIs(text string) string { return text }

// Positive returns a flag that is a duration of more than zero; unset is its default.
func Positive(value *time.Duration, unset time.Duration) pflag.Value {
	*value = unset
	return checked[time.Duration]{value, "duration", time.Duration.String, func(text string) (time.Duration, error) {
		parsed, err := time.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("reading a duration like 90s or 1h30m: %w", err)
		}
		if parsed <= 0 {
			return 0, errors.New("it has to be more than zero")
		}
		return parsed, nil
	}}
}

// AtLeastOne returns a flag that is a whole number of at least one; unset is its default.
func AtLeastOne(value *int, unset int) pflag.Value {
	*value = unset
	return checked[int]{value, "int", strconv.Itoa, func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return 0, errors.New("it has to be a whole number of at least 1")
		}
		return n, nil
	}}
}

// Rate returns a flag that is a number a second; zero is no limit.
func Rate(value *float64) pflag.Value {
	text := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	return checked[float64]{value, "float64", text, func(text string) (float64, error) {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f >= 0) || math.IsInf(f, 0) { // NaN is not at least 0
			return 0, errors.New("it has to be a number that is not below 0")
		}
		return f, nil
	}}
}

// Directory returns a flag that names a directory, which has to exist; "" names none.
func Directory(path *string) pflag.Value {
	return checked[string]{path, "directory", asItIs, func(text string) (string, error) {
		if text == "" {
			return "", nil
		}
		info, err := os.Stat(text)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("there is no directory %s", text)
		case err != nil:
			return "", err
		case !info.IsDir():
			return "", fmt.Errorf("%s is no directory", text)
		}
		return text, nil
	}}
}

// List returns a flag with several values, separated by commas.
func List(values *[]string) pflag.Value {
	text := func(values []string) string { return strings.Join(values, ",") }
	return checked[[]string]{values, "list", text, func(text string) (all []string, err error) {
		for value := range strings.SplitSeq(text, ",") {
			if value = strings.TrimSpace(value); value != "" {
				all = append(all, value)
			}
		}
		return all, nil
	}}
}

// NoName is the value of a flag that names a class, where the flag is given without a name.
const NoName = "true"

// ClassName returns a flag that names a class. The value true stands for yes; where yes is empty,
// the value has to be a name. The value false stands for no class.
func ClassName(value *string, yes string) pflag.Value {
	return checked[string]{value, "name", asItIs, func(text string) (string, error) {
		switch text {
		case "true":
			if yes == "" {
				return "", errors.New("it has to be the name of a class")
			}
			text = yes
		case "", "false":
			return "", nil
		}
		if problems := validation.IsDNS1123Subdomain(text); len(problems) > 0 {
			return "", errors.New(strings.Join(problems, "; "))
		}
		return text, nil
	}}
}

// ClassLiteral adds the flag that names the class that is served without an IngressClass.
func ClassLiteral(flags *pflag.FlagSet, value *string) {
	flags.Var(ClassName(value, ""), "ingress-class-literal",
		"serve Ingresses whose annotation kubernetes.io/ingress.class is `NAME`, without parameters, "+
			"where no IngressClass has this name; unset: they are not served, for the reason ClassUnknown "+
			"or ClassMissing")
}

// Dialects are those of controllers whose IngressClasses can be read as Fairlead's.
var Dialects = []string{v1alpha1.DialectALB, v1alpha1.DialectNGINX}

// From adds the flag for a trial beside another controller.
func From(flags *pflag.FlagSet, value *string) {
	flags.Var(OneOf(value, "", Dialects...), "from", "read the IngressClasses of another controller as Fairlead's, "+
		"with this `DIALECT`: "+Names(Dialects)+", of the AWS Load Balancer Controller or of ingress-nginx; unset: they are left alone")
}

// A Choice is a flag with one of a few values.
type Choice struct {
	checked[string]
	Values []string
}

// OneOf returns a flag with one of the values; unset is its default.
func OneOf(value *string, unset string, values ...string) Choice {
	*value = unset
	return Choice{checked[string]{value, "string", asItIs, func(text string) (string, error) {
		if text != unset && !slices.Contains(values, text) {
			return "", errors.New("it can be " + Names(values))
		}
		return text, nil
	}}, values}
}

// Names returns values as prose: a, b or c.
func Names(values []string) string {
	last := len(values) - 1
	if last <= 0 {
		return strings.Join(values, "")
	}
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// Complete has the shell complete a flag with one of the values.
func Complete(cmd *cobra.Command, flag string, values ...string) {
	complete := cobra.FixedCompletions(slices.Clone(values), cobra.ShellCompDirectiveNoFileComp)
	Must(cmd.RegisterFlagCompletionFunc(flag, complete))
}

// Must panics on the error of a call about a flag that the caller has just defined.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
