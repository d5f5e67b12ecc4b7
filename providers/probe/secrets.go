package probe

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/providers/selfsigned"
)

// This file tests that no answer holds a secret that was sent.

// host is the host of the certificate and the rule. It does not resolve.
const host = "fairlead-check.example.com"

// importCertificate imports a certificate, and sends it in a request that has to be refused, too.
func (p *probe) importCertificate(ctx context.Context) error {
	protocols := p.capabilities.Listeners.Protocols
	if len(protocols) > 0 && !slices.Contains(protocols, "HTTPS") {
		return errSkipped("its capabilities have no HTTPS, so that it is sent no certificate")
	}
	pair, err := selfsigned.Certificate(host)
	if err != nil {
		return err
	}
	key := string(pair.Pair.Key)
	// One line of the key is looked for: line breaks are escaped in JSON.
	p.secrets[strings.Split(key, "\n")[1]] = "the private key of a certificate"
	step := v1.Step{Op: v1.ImportCertificate, Certificate: &v1.Certificate{
		ID: certificate, Hosts: []string{host}, Kind: "ecdsa", Digest: "fairlead-check",
		Chain: string(pair.Pair.Chain), Key: key,
	}}
	if err := p.step(ctx, step); err != nil {
		return err
	}
	if err := p.refusedWith(ctx, step); err != nil {
		return err
	}
	seen, err := p.observe(ctx)
	if err != nil {
		return err
	}
	if len(seen.Certificates) != 1 || seen.Certificates[0].ID != certificate ||
		!slices.Equal(seen.Certificates[0].Hosts, []string{host}) {
		return fmt.Errorf("it tells the certificates %v; one was imported, %s of %s", seen.Certificates,
			certificate, host)
	}
	return nil
}

// refusedWith sends a step in malformed JSON. The problem must not quote the step.
func (p *probe) refusedWith(ctx context.Context, s v1.Step) error {
	body, err := json.Marshal(v1.Apply{Steps: []v1.Requested{{ID: rand.Text(), Step: s}}})
	if err != nil {
		return fmt.Errorf("writing a step: %w", err)
	}
	body = append(body, ']')
	a, err := p.send(ctx, request{method: http.MethodPost, path: v1.PathSteps,
		query: url.Values{"key": {p.key}}, body: body})
	if err != nil {
		return err
	}
	return expectProblem(a, []int{400}, v1.ProblemMalformed)
}

// signIn creates a rule with a sign-in and a client secret.
func (p *probe) signIn(ctx context.Context) error {
	if !p.capabilities.Actions.Auth {
		return noteError("its capabilities have no sign-in, so that it is sent no client secret")
	}
	secret := rand.Text()
	p.secrets[secret] = "a client secret"
	auth := &v1.Auth{
		Kind: "oidc", Issuer: "https://" + host, AuthorizationEndpoint: "https://" + host + "/authorize",
		TokenEndpoint:    "https://" + host + "/token",
		UserInfoEndpoint: "https://" + host + "/user", ClientID: "fairlead-check",
		OnMissing: "authenticate", Scope: "openid",
		Cookie: "fairlead-check", TimeoutSeconds: 3600, ClientSecret: secret,
	}
	const port = 443
	rule := &v1.Rule{
		Conditions: []v1.Condition{{Field: "host", Values: []string{host}},
			{Field: "path", Values: []string{"/*"}}},
		Action: v1.Action{Kind: "forward",
			Forward: &v1.Forward{Targets: []v1.Weighted{{TargetGroup: group, Weight: 1}}}, Auth: auth},
	}
	for _, s := range []v1.Step{
		{Op: v1.CreateListener, Listener: &v1.Listener{
			Port: port, Protocol: "HTTPS", Certificates: []string{certificate},
			Settings: v1.ListenerSettings{SecretsDigest: "fairlead-check"},
			Digest:   "fairlead-check", Default: v1.Action{Kind: "fixed", Fixed: &v1.Fixed{Status: 404}},
		}},
		{Op: v1.CreateRule, Port: port, Priority: max(1, p.capabilities.Limits.MinPriority), Rule: rule},
	} {
		if err := p.step(ctx, s); isRejected(err) {
			return noteError(err.Error())
		} else if err != nil {
			return err
		}
	}
	_, err := p.observe(ctx)
	return err
}

// secretsTrial is the trial that fails if an answer held a secret.
var secretsTrial = trial{
	"provider/secrets", "no answer has the private key, or the client secret",
	"tell no private key and no client secret, also not in what is said about a request that is " +
		"refused",
	func(p *probe, _ context.Context) error {
		switch {
		case len(p.secrets) == 0:
			return errSkipped("no certificate was sent")
		case len(p.leaked) > 0:
			return fmt.Errorf("an answer has %s in it",
				strings.Join(slices.Sorted(maps.Keys(p.leaked)), " and "))
		}
		return nil
	},
}
