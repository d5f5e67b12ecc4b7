// Package source reads the objects that commands compile and the load balancers that are there, wherever they are: in
// files, at a revision of a git repository, or in a cluster. Secrets that files leave out are made up.
package source

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	networkingv1 "k8s.io/api/networking/v1"

	"fairlead.dev/fairlead/cli/access"
	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/cli/manifests"
	"fairlead.dev/fairlead/model/ingress"
)

// Input holds the flags that name the objects and the providers.
type Input struct {
	Files          []string // with URLs, and - for standard input
	kustomizations []string
	recursive      bool
	exclude        []string
	remote         bool
	budget         *manifests.Budget // of all files that the command reads
	shown          func(path string) string
	classNames     classNames
	withoutClass   string
	literal        string
	From           string // the dialect of IngressClasses of another controller
	Provider       access.Selection
}

// ManifestFlags adds the flags that say which Ingresses to compile.
func (in *Input) ManifestFlags(cmd *cobra.Command, files ...string) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&in.Files, "filename", "f", files,
		"`FILE`, directory or URL with manifests, - for standard input; can be repeated")
	flags.StringArrayVarP(&in.kustomizations, "kustomize", "k", nil,
		"`DIR` with a kustomization, which kubectl or kustomize builds; can be repeated")
	flags.BoolVarP(&in.recursive, "recursive", "R", false,
		"search the directories inside those of --filename, too")
	flags.StringArrayVar(&in.exclude, "exclude", nil, "leave out files and directories inside "+
		"directories by a `PATTERN` of their name, such as values.yaml, or of their path in the "+
		"directory that is given, such as 'charts/*'; can be repeated")
	flags.BoolVar(&in.remote, "kustomize-remote", false,
		"let kustomizations name files and repositories of other machines, which are fetched")
	in.budget = new(manifests.Budget)
	flags.Var(&in.classNames, "class-name",
		"`NAME` of an IngressClass of Fairlead to assume if the files have none of this name, or only "+
			"one of another controller; can be repeated, and Ingresses of other classes are then left "+
			"alone; unset, or true: "+ingress.DefaultClass+", if the files have no class of Fairlead; "+
			"false: none")
	flags.Var(flagvalue.ClassName(&in.withoutClass, flagvalue.NoName), "watch-ingress-without-class",
		"serve Ingresses that name no class as if they named the IngressClass `NAME`; without a name, "+
			"or true: that of --class-name")
	flags.Lookup("watch-ingress-without-class").NoOptDefVal = flagvalue.NoName
	flagvalue.ClassLiteral(flags, &in.literal)
	flagvalue.From(flags, &in.From)
	flagvalue.Complete(cmd, "from", flagvalue.Dialects...)
	flagvalue.Must(cmd.MarkFlagFilename("filename", "yaml", "yml", "json"))
	flagvalue.Must(cmd.MarkFlagDirname("kustomize"))
}

// ProviderFlag adds the flags that say which providers to compile for.
func (in *Input) ProviderFlag(cmd *cobra.Command, with access.Clouds) {
	in.Provider.Flags(cmd.Flags(), with, access.Compiles, "to compile for")
	flagvalue.Complete(cmd, "provider", with.NamesOf(access.Compiles)...)
	if len(in.Provider.Names) == 0 {
		flagvalue.Must(cmd.MarkFlagRequired("provider"))
	}
}

// Options returns the options of the compiler. Files without any class of Fairlead are compiled as
// if the default class existed.
func (in *Input) Options(objects ingress.Objects) ingress.ClassOptions {
	options := ingress.ClassOptions{WithoutClass: in.withoutClass, Literal: in.literal,
		AssumeClasses: in.classNames.used(), From: in.From,
		Providers: in.Provider.Names, Called: in.Provider.Called(), NGINX: &sync.Map{}}
	if options.WithoutClass == flagvalue.NoName {
		options.WithoutClass = strings.Join(options.AssumeClasses[:min(
			1, len(options.AssumeClasses))], "")
	}
	ours := func(c *networkingv1.IngressClass) bool { return c.Spec.Controller == ingress.ControllerName }
	if in.classNames.given {
		options.TakenClasses = in.classNames.names
	}
	if !in.classNames.given && slices.ContainsFunc(objects.IngressClasses, ours) {
		options.AssumeClasses = nil
	}
	if in.From != "" {
		options.AssumeClasses = nil
		controller, standard := ingress.ControllerOf(in.From)
		theirs := func(c *networkingv1.IngressClass) bool { return ours(c) || c.Spec.Controller == controller }
		switch {
		case in.classNames.given && len(in.classNames.names) == 0: // none is taken
			options.From = ""
		case !in.classNames.given && !slices.ContainsFunc(objects.IngressClasses, theirs):
			options.TakenClasses = []string{standard}
		}
	}
	return options
}

// NamesClasses reports whether the command line says which classes are Fairlead's.
func (in *Input) NamesClasses() bool { return in.classNames.given }

// RequireFiles returns an error if no files are given, unless the cluster is read.
func (in *Input) RequireFiles(live bool) error {
	if !in.FromFiles() && !live {
		return errors.New("no Ingresses are given: " +
			"name files with --filename, or read the cluster with --live")
	}
	return nil
}

// OneStdin returns an error if more than one of the lists of files names standard input.
func OneStdin(lists ...[]string) error {
	named := 0
	for _, files := range lists {
		if slices.Contains(files, manifests.StandardInput) {
			named++
		}
	}
	if named > 1 {
		return errors.New("standard input can be read once, and - stands for it in two places")
	}
	return nil
}

// FromFiles reports whether the objects are those of files, which need not be all that a cluster
// has.
func (in *Input) FromFiles() bool { return len(in.Files) > 0 || len(in.kustomizations) > 0 }

// FirstFile returns the first file or directory that is given.
func (in *Input) FirstFile() string { return in.Paths()[0] }

// Of says of which files, or of which cluster, the objects are.
func (in *Input) Of(cluster access.Cluster) string {
	if in.FromFiles() {
		return "Files: " + Listed(in.Paths()) + "."
	}
	context, server := cluster.Name()
	return fmt.Sprintf("Cluster: %s (%s).", cmp.Or(context, "no context"), server)
}

// Listed returns the names of files and directories in a line.
func Listed(paths []string) string {
	const most = 5
	var names []string
	for _, path := range paths[:min(most, len(paths))] {
		names = append(names, manifests.NameOf(path))
	}
	if more := len(paths) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// Again returns the input for another reading, with a new budget for aliases.
func (in Input) Again() Input {
	in.budget = new(manifests.Budget)
	return in
}

// Paths returns the files and directories that are given.
func (in *Input) Paths() []string { return slices.Concat(in.Files, in.kustomizations) }

// Load reads the files. Objects that name no namespace are in the given one; empty is default. If
// it is given, Ingresses of other namespaces are left out.
func (in *Input) Load(cmd *cobra.Command, namespace string) (ingress.Objects, manifests.Places,
	error) {
	files := in.Manifests(cmd.InOrStdin(), namespace)
	files.Budget = in.budget
	return files.Load(cmd.Context())
}

// Manifests returns the files of the flags.
func (in *Input) Manifests(stdin io.Reader, namespace string) manifests.Files {
	return manifests.Files{Paths: in.Files, Kustomizations: in.kustomizations,
		Recursive: in.recursive, Namespace: namespace, Exclude: in.exclude, Remote: in.remote,
		Shown: in.shown, Stdin: stdin}
}

// Objects reads the files or, if none are given, the cluster. If only some of what is in files
// cannot be read, it returns the rest, and manifests.LeftOut knows the error.
func (in *Input) Objects(
	cmd *cobra.Command, cluster access.Cluster,
) (ingress.Objects, ingress.ClassOptions, error) {
	objects, options, _, err := in.Located(cmd, cluster)
	return objects, options, err
}

// Located returns Objects, and where they stand in the files.
func (in *Input) Located(
	cmd *cobra.Command, cluster access.Cluster,
) (ingress.Objects, ingress.ClassOptions, manifests.Places, error) {
	if in.FromFiles() {
		objects, places, err := in.Load(cmd, cluster.Namespace)
		return objects, in.Options(objects), places, err
	}
	objects, err := clusterObjects(cmd.Context(), cluster)
	options := in.Options(objects)
	if options.AssumeClasses = nil; options.From == "" { // a cluster has its classes
		options.TakenClasses = nil
	}
	return objects, options, nil, err
}

// OfRevision returns the same input with the files of a git revision. Files that the revision does
// not have are left out.
func (in Input) OfRevision(tree *Tree) (Input, error) {
	var errs []error
	there := func(paths []string) (out []string) {
		for _, path := range paths {
			if path == manifests.StandardInput || manifests.IsURL(path) {
				errs = append(errs, fmt.Errorf("--base: %s is no file of a git repository",
					manifests.NameOf(path)))
				continue
			}
			at, found, err := tree.Path(path)
			if errs = append(errs, err); found {
				out = append(out, at)
			}
		}
		return out
	}
	in.Files, in.kustomizations = there(in.Files), there(in.kustomizations)
	in.shown = tree.Name
	return in, errors.Join(errs...)
}

// WithoutGone returns the same input without the files and directories that a git revision has and
// that are gone since.
func (in Input) WithoutGone(tree *Tree) (Input, error) {
	var errs []error
	left := func(paths []string) (out []string) {
		for _, path := range paths {
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				_, was, err := tree.Path(path)
				if errs = append(errs, err); was {
					continue
				}
			}
			out = append(out, path)
		}
		return out
	}
	in.Files, in.kustomizations = left(in.Files), left(in.kustomizations)
	return in, errors.Join(errs...)
}

// OfCluster returns the same input without files: the objects are those of the cluster.
func (in Input) OfCluster() Input {
	in.Files, in.kustomizations = nil, nil
	return in
}

// classNames are the names of classes to assume, each given by a flag of its own or after a comma.
// The zero value, and true, stand for the default class; false stands for none.
type classNames struct {
	names []string
	given bool
}

// used returns the names.
func (c *classNames) used() []string {
	if !c.given {
		return []string{ingress.DefaultClass}
	}
	return c.names
}

// String implements pflag.Value.
func (c *classNames) String() string {
	if !c.given {
		return flagvalue.NoName
	}
	return strings.Join(c.names, ",")
}

// Set implements pflag.Value.
func (c *classNames) Set(value string) error {
	if value == flagvalue.NoName {
		*c = classNames{}
		return nil
	}
	c.given = true
	for name := range strings.SplitSeq(value, ",") {
		var one string
		if err := flagvalue.ClassName(&one, "").Set(strings.TrimSpace(name)); err != nil {
			return err
		}
		if one != "" && !slices.Contains(c.names, one) {
			c.names = append(c.names, one)
		}
	}
	return nil
}

// Type implements pflag.Value.
func (c *classNames) Type() string { return "name" }
