package routing

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"fairlead.dev/fairlead/model/printable"
)

// This file has authentication of users. If users cannot sign in, requests get 503: no request
// passes without authentication.

// The kinds of authentication.
const (
	OIDC    = "oidc"
	Cognito = "cognito"
	JWT     = "jwt"
)

// An Auth requires a signed-in user before the rest of the action.
type Auth struct {
	Kind string `json:"kind"`

	Issuer                string  `json:"issuer,omitempty"`                // oidc, jwt
	AuthorizationEndpoint string  `json:"authorizationEndpoint,omitempty"` // oidc
	TokenEndpoint         string  `json:"tokenEndpoint,omitempty"`         // oidc
	UserInfoEndpoint      string  `json:"userInfoEndpoint,omitempty"`      // oidc
	KeysEndpoint          string  `json:"keysEndpoint,omitempty"`          // jwt
	Claims                []Claim `json:"claims,omitempty"`                // jwt
	UserPool              string  `json:"userPool,omitempty"`              // cognito
	UserPoolDomain        string  `json:"userPoolDomain,omitempty"`        // cognito

	ClientID       string            `json:"clientID,omitempty"` // oidc, cognito, and all below
	OnMissing      string            `json:"onMissing,omitempty"`
	Scope          string            `json:"scope,omitempty"`
	Cookie         string            `json:"cookie,omitempty"`
	TimeoutSeconds int64             `json:"timeoutSeconds,omitempty"`
	Parameters     map[string]string `json:"parameters,omitempty"`

	// Secret is the namespace/name of the Secret with the client.
	Secret string `json:"-"`
	// ClientSecret can be written to a cloud, but not read again.
	ClientSecret Secret `json:"-"`
	// KeepsClientSecret: the secret could not be read, so the cloud keeps the present one.
	KeepsClientSecret bool `json:"-"`
	// SecurePort is the port that requests without HTTPS are redirected to; 0: they get 503.
	SecurePort int32 `json:"-"`
}

// A Claim is a required claim of a token.
type Claim struct {
	Name   string   `json:"name"`
	Format string   `json:"format"`
	Values []string `json:"values"`
}

// Key is equal for equal authentication, apart from the secret, which clouds do not return.
func (a Auth) Key() string {
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Sprintf("%+v", a) // plain data always marshals
	}
	return string(text)
}

// String describes the authentication in a few words.
func (a Auth) String() string {
	if a.Kind == Cognito {
		return a.Kind + " " + printable.Word(a.UserPool)
	}
	return a.Kind + " " + printable.Word(a.Issuer)
}

// A Secret never prints itself.
type Secret string

func (Secret) String() string               { return "[redacted]" }
func (Secret) GoString() string             { return "[redacted]" }
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"[redacted]"`), nil }

// Digest returns a digest of the secret.
func (s Secret) Digest() string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
