package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/cli/flagvalue"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/remote"
)

// A Selection is the setting that names providers: "fake" or
// "fake,edge=https://edge.example.com:8443". The first one makes the load balancers of classes that
// name no provider.
type Selection struct {
	Names       []string
	urls        map[string]string // of the providers that are other processes
	known       []string          // clouds of the binary
	clouds      Clouds
	credentials string
	isDefault   bool // the setting has its default
}

// Flags adds the settings. Only clouds that support the command may be selected.
func (s *Selection) Flags(
	flags *pflag.FlagSet, with Clouds, can func(clouds.Cloud) bool, purpose string,
) {
	s.Reset()
	s.known, s.clouds, s.Names, s.isDefault = with.NamesOf(can), with, with.defaultName(), true
	flags.Var(s, "provider", "`PROVIDERS` "+purpose+": "+flagvalue.Names(s.known)+
		", or NAME=URL of a provider that is another process, such as "+
		"edge=https://edge.example.com:8443, http://127.0.0.1:9000 on this machine or "+
		"unix:///run/edge.sock. Several are separated by commas, or the flag is repeated: "+
		"spec.providerName of a class names one of them, and the first one serves the classes "+
		"that name none")
	flags.Var(flagvalue.Directory(&s.credentials), "provider-credentials",
		"`DIRECTORY` with a subdirectory for each provider that is another process, named as the "+
			"provider is, with any of token, ca.crt, tls.crt and tls.key. The files are read again when "+
			"they change")
}

var providerName = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,30}[a-z0-9])?$`)

// Set adds providers. The first call replaces the usual provider.
func (s *Selection) Set(text string) error {
	if s.isDefault {
		s.Reset()
	}
	for entry := range strings.SplitSeq(text, ",") {
		name, url, other := strings.Cut(strings.TrimSpace(entry), "=")
		switch {
		case other && !providerName.MatchString(name):
			return fmt.Errorf("the name of a provider has lower-case letters, digits and hyphens, "+
				"32 at most, and begins with a letter; %q has others", name)
		case !other && !slices.Contains(s.known, name):
			return fmt.Errorf("it can be %s, or NAME=URL", flagvalue.Names(s.known))
		case slices.Contains(s.Names, name):
			return fmt.Errorf("%s is there twice", name)
		}
		if other {
			if err := remote.CheckURL(url); err != nil {
				return err
			}
			s.urls[name] = url
		}
		s.Names = append(s.Names, name)
	}
	return nil
}

// Reset removes all providers, before a value of the flag is set.
func (s *Selection) Reset() {
	s.Names, s.urls, s.isDefault = nil, map[string]string{}, false
}

func (s *Selection) String() string {
	var out []string
	for _, name := range s.Names {
		if url := s.urls[name]; url != "" {
			name += "=" + url
		}
		out = append(out, name)
	}
	return strings.Join(out, ",")
}

// Type implements pflag.Value.
func (s *Selection) Type() string { return "providers" }

// IsDefault reports whether no provider was named.
func (s *Selection) IsDefault() bool { return s.isDefault }

// First returns the provider of classes that name none.
func (s *Selection) First() string { return s.Names[0] }

// Called returns what messages call a load balancer of each provider.
func (s *Selection) Called() map[string]string {
	out := map[string]string{}
	for _, name := range s.Names {
		out[name] = "the load balancer"
		if s.urls[name] == "" {
			out[name] = cmp.Or(s.clouds[name].Called, out[name])
		}
	}
	return out
}

// InTree returns the selected clouds of the binary.
func (s *Selection) InTree() []string {
	return slices.DeleteFunc(slices.Clone(s.Names), func(name string) bool {
		return s.urls[name] != ""
	})
}

// Endpoint returns the connection to a provider that is another process.
func (s *Selection) Endpoint(name string, around clouds.Environment) remote.Endpoint {
	e := remote.Endpoint{
		Name: name, URL: s.urls[name], OnRequest: around.OnRequest, OnInFlight: around.OnInFlight,
		Attempt: around.AttemptTimeout, Call: around.CallTimeout, Log: around.Log,
	}
	if s.credentials != "" {
		e.Credentials = filepath.Join(s.credentials, name)
	}
	return e
}

// unknown returns the error for a provider that does not support the command.
func (c Clouds) unknown(name string, can func(clouds.Cloud) bool) error {
	there := strings.Join(c.NamesOf(can), ", ")
	return fmt.Errorf("--provider: no provider is called %q; there are %s", name, there)
}

// Live opens the providers of the load balancers of a cluster.
func (s *Selection) Live(
	ctx context.Context, with Clouds, around clouds.Environment,
) (clouds.Live, error) {
	all := lives{first: s.First(), named: map[string]clouds.Live{}}
	for _, name := range s.Names {
		var err error
		if s.urls[name] != "" {
			all.named[name], err = connect(ctx, s.Endpoint(name, around))
		} else if start := with[name].Live; start == nil {
			err = with.unknown(name, Serves)
		} else {
			all.named[name], err = start(ctx, around)
		}
		if err != nil {
			delete(all.named, name)
			all.Close()
			return nil, err
		}
	}
	return all, nil
}

// connect returns a provider that is another process. One that does not answer yet is tried again
// when it is needed: the load balancers of other providers do not wait for it.
func connect(ctx context.Context, e remote.Endpoint) (clouds.Live, error) {
	p, err := remote.New(e)
	if err != nil {
		return nil, err
	}
	if err := p.Reach(ctx); err != nil {
		const problem = "a provider is not reached yet, and nothing is done for its load balancers " +
			"until it is"
		e.Log.Error(err, problem, "provider", e.Name)
	}
	return p, nil
}

// lives holds the providers of the load balancers of a cluster.
type lives struct {
	first string
	named map[string]clouds.Live
}

// Term implements clouds.Live.
func (l lives) Term() providers.Provider {
	if len(l.named) == 1 {
		return l.named[l.first].Term()
	}
	terms := map[string]providers.Provider{}
	for name, live := range l.named {
		terms[name] = live.Term()
	}
	return providers.NewRouter(l.first, terms)
}

// Close implements clouds.Live.
func (l lives) Close() {
	for _, live := range l.named {
		live.Close()
	}
}

// Offline opens the providers to compile for. Providers that are other processes have to answer.
func (s *Selection) Offline(ctx context.Context, with Clouds) (clouds.Offline, error) {
	all := offlines{first: s.First(), named: map[string]clouds.Offline{}}
	for _, name := range s.Names {
		var err error
		if s.urls[name] != "" {
			all.named[name], err = remote.Open(ctx, s.Endpoint(name, clouds.Environment{}))
		} else if start := with[name].Offline; start == nil {
			err = with.unknown(name, Compiles)
		} else {
			all.named[name], err = start()
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// offlines holds the providers to compile for.
type offlines struct {
	first string
	named map[string]clouds.Offline
}

func (o offlines) of(name string) clouds.Offline {
	if p := o.named[name]; p != nil {
		return p
	}
	return o.named[o.first] // no class is used that names a missing provider
}

// Capabilities implements clouds.Offline.
func (o offlines) Capabilities(class lb.Class) lb.Capabilities {
	return o.of(class.Provider).Capabilities(class)
}

// Lookup implements clouds.Offline.
func (o offlines) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	return o.of(q.Provider).Lookup(ctx, q)
}

// Local opens the provider of a demonstration.
func (s *Selection) Local(ctx context.Context, with Clouds) (clouds.Local, error) {
	name := s.First()
	switch start := with[name].Local; {
	case len(s.Names) > 1:
		return nil, errors.New("--provider: a demonstration has one provider")
	case s.urls[name] != "":
		return remote.Open(ctx, s.Endpoint(name, clouds.Environment{}))
	case start == nil:
		return nil, fmt.Errorf("--provider: %s cannot be demonstrated on this machine", name)
	default:
		return start()
	}
}

// DisabledFeatures returns, in words, the features of the selected clouds that lack a setting.
func (s *Selection) DisabledFeatures(with Clouds) []string {
	var out []string
	for _, name := range s.InTree() {
		if forgone := with[name].DisabledFeatures; forgone != nil && forgone() != "" {
			out = append(out, forgone())
		}
	}
	return out
}

// Unseen returns the providers whose load balancers another process cannot read, and the reasons.
func (s *Selection) Unseen(with Clouds) map[string]string {
	out := map[string]string{}
	for _, name := range s.InTree() {
		if unseen := with[name].Unseen; unseen != nil && unseen() != "" {
			out[name] = unseen()
		}
	}
	return out
}

// Others returns the names of the providers that are other processes.
func (s *Selection) Others() []string { return slices.Sorted(maps.Keys(s.urls)) }
