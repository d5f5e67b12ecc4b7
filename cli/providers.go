package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/clouds"
	"fairlead.dev/fairlead/providers/remote"
)

// This file is which providers a command uses: clouds of the binary, by their names, and providers
// that are other processes, by names and URLs.

// A selection is the setting that names providers: "aws" or
// "aws,edge=https://edge.example.com:8443". The first makes the load balancers of classes that name
// none.
type selection struct {
	names       []string
	urls        map[string]string // of those that are other processes
	known       []string          // clouds of the binary
	credentials string
	usual       bool // nothing was said yet
}

// flags adds the settings.
func (s *selection) flags(flags *pflag.FlagSet, known []string, purpose string) {
	s.known = known
	s.reset()
	s.names, s.usual = []string{"fake"}, true
	flags.Var(s, "provider", "`PROVIDERS` "+purpose+": "+choice{values: known}.names()+", or NAME=URL of a provider that is another process, such as edge=https://edge.example.com:8443, http://127.0.0.1:9000 on this machine or unix:///run/edge.sock. Several with commas between, or the flag repeated: spec.providerName of a class says which, and the first is that of classes that do not")
	flags.StringVar(&s.credentials, "provider-credentials", "", "`DIRECTORY` with a directory for each provider that is another process, of its name, with any of token, ca.crt, tls.crt and tls.key. They are read again when they change")
}

var providerName = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,30}[a-z0-9])?$`)

// Set adds providers. The first ones that are said take the place of the usual one.
func (s *selection) Set(text string) error {
	if s.usual {
		s.reset()
	}
	for entry := range strings.SplitSeq(text, ",") {
		name, url, other := strings.Cut(strings.TrimSpace(entry), "=")
		switch {
		case other && !providerName.MatchString(name):
			return fmt.Errorf("the name of a provider has lower-case letters, digits and hyphens, 32 at most, and begins with a letter; %q has others", name)
		case !other && !slices.Contains(s.known, name):
			return fmt.Errorf("it can be %s, or NAME=URL", choice{values: s.known}.names())
		case slices.Contains(s.names, name):
			return fmt.Errorf("%s is there twice", name)
		}
		if other {
			if err := remote.CheckURL(url); err != nil {
				return err
			}
			s.urls[name] = url
		}
		s.names = append(s.names, name)
	}
	return nil
}

// reset forgets what was said.
func (s *selection) reset() {
	s.names, s.urls, s.usual = nil, map[string]string{}, false
}

func (s *selection) String() string {
	var out []string
	for _, name := range s.names {
		if url := s.urls[name]; url != "" {
			name += "=" + url
		}
		out = append(out, name)
	}
	return strings.Join(out, ",")
}

// Type is for pflag.
func (s *selection) Type() string { return "providers" }

// first is the provider of classes that name none.
func (s *selection) first() string { return s.names[0] }

// inTree are the chosen clouds of the binary.
func (s *selection) inTree() []string {
	return slices.DeleteFunc(slices.Clone(s.names), func(name string) bool { return s.urls[name] != "" })
}

// endpoint is where a provider is reached.
func (s *selection) endpoint(name string, around clouds.Surroundings) remote.Endpoint {
	e := remote.Endpoint{Name: name, URL: s.urls[name], Attempt: around.AttemptTimeout, Call: around.CallTimeout, Requested: around.Requested, Log: around.Log}
	if s.credentials != "" {
		e.Credentials = filepath.Join(s.credentials, name)
	}
	return e
}

// live opens the providers that a cluster is served from.
func (s *selection) live(ctx context.Context, with Providers, around clouds.Surroundings) (clouds.Live, error) {
	all := lives{first: s.first(), named: map[string]clouds.Live{}}
	for _, name := range s.names {
		var err error
		if s.urls[name] != "" {
			all.named[name], err = begin(ctx, s.endpoint(name, around))
		} else if start := with.Clouds[name].Live; start == nil {
			err = fmt.Errorf("--provider: no provider is called %q; there are %s", name, strings.Join(with.names(serves), ", "))
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

// begin makes a provider that is another process. One that cannot be reached yet is tried again
// when it is needed: it must not keep load balancers of other providers from being looked after.
func begin(ctx context.Context, e remote.Endpoint) (clouds.Live, error) {
	p, err := remote.New(e)
	if err != nil {
		return nil, err
	}
	if err := p.Reach(ctx); err != nil {
		e.Log.Error(err, "a provider is not reached yet, and nothing is done for its load balancers until it is", "provider", e.Name)
	}
	return p, nil
}

// lives are providers that a cluster is served from.
type lives struct {
	first string
	named map[string]clouds.Live
}

// Term is for clouds.Live.
func (l lives) Term() providers.Provider {
	if len(l.named) == 1 {
		return l.named[l.first].Term()
	}
	terms := map[string]providers.Provider{}
	for name, live := range l.named {
		terms[name] = live.Term()
	}
	return providers.NewSeveral(l.first, terms)
}

// Close is for clouds.Live.
func (l lives) Close() {
	for _, live := range l.named {
		live.Close()
	}
}

// offline opens the providers that are compiled for. Those that are other processes are asked.
func (s *selection) offline(ctx context.Context, with Providers) (clouds.Offline, error) {
	all := offlines{first: s.first(), named: map[string]clouds.Offline{}}
	for _, name := range s.names {
		var err error
		if s.urls[name] != "" {
			all.named[name], err = remote.Open(ctx, s.endpoint(name, clouds.Surroundings{}))
		} else if start := with.Clouds[name].Offline; start == nil {
			err = fmt.Errorf("--provider: no provider is called %q; there are %s", name, strings.Join(with.names(compiles), ", "))
		} else {
			all.named[name], err = start()
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// offlines are providers that are compiled for.
type offlines struct {
	first string
	named map[string]clouds.Offline
}

func (o offlines) of(name string) clouds.Offline {
	if p := o.named[name]; p != nil {
		return p
	}
	return o.named[o.first] // a class that names one that is not there is not used at all
}

// Capabilities is for clouds.Offline.
func (o offlines) Capabilities(class lb.Class) lb.Capabilities {
	return o.of(class.Provider).Capabilities(class)
}

// Lookup is for clouds.Offline.
func (o offlines) Lookup(ctx context.Context, q lb.Questions) (lb.Facts, error) {
	return o.of(q.Provider).Lookup(ctx, q)
}

// local opens the provider that a demonstration is served from.
func (s *selection) local(ctx context.Context, with Providers) (clouds.Local, error) {
	name := s.first()
	switch start := with.Clouds[name].Local; {
	case len(s.names) > 1:
		return nil, errors.New("--provider: a demonstration has one provider")
	case s.urls[name] != "":
		return remote.Open(ctx, s.endpoint(name, clouds.Surroundings{}))
	case start == nil:
		return nil, fmt.Errorf("--provider: %s cannot be demonstrated on this machine", name)
	default:
		return start()
	}
}

// forgone is what the chosen clouds do not do for want of a setting.
func (s *selection) forgone(with Providers) []string {
	var out []string
	for _, name := range s.inTree() {
		if forgone := with.Clouds[name].Forgone; forgone != nil && forgone() != "" {
			out = append(out, forgone())
		}
	}
	return out
}

// others are the names of the providers that are other processes.
func (s *selection) others() []string { return slices.Sorted(maps.Keys(s.urls)) }
