package v1alpha1

// This file is how a Backend has users sign in.

// Authenticate is how users sign in: exactly one of its fields is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.oidc), has(self.cognito), has(self.jwt)].filter(set, set).size() == 1",message="exactly one of `oidc`, `cognito` and `jwt` must be specified"
type Authenticate struct {
	// OIDC signs users in at an identity provider that speaks OpenID Connect.
	OIDC *OIDC `json:"oidc,omitempty"`
	// Cognito signs users in at an Amazon Cognito user pool.
	Cognito *Cognito `json:"cognito,omitempty"`
	// JWT asks for a token in the Authorization header, and answers 401 without a valid one.
	JWT *JWT `json:"jwt,omitempty"`
}

// OIDC is an identity provider, and the client that load balancers use there.
type OIDC struct {
	// Issuer is the provider's identifier.
	// +kubebuilder:validation:Pattern=`^https://`
	// +kubebuilder:validation:MaxLength=2048
	Issuer string `json:"issuer"`
	// AuthorizationEndpoint is the URL at which users sign in.
	// +kubebuilder:validation:Pattern=`^https://`
	// +kubebuilder:validation:MaxLength=2048
	AuthorizationEndpoint string `json:"authorizationEndpoint"`
	// TokenEndpoint is the URL that returns the tokens of a sign-in.
	// +kubebuilder:validation:Pattern=`^https://`
	// +kubebuilder:validation:MaxLength=2048
	TokenEndpoint string `json:"tokenEndpoint"`
	// UserInfoEndpoint is the URL that returns the claims of a user.
	// +kubebuilder:validation:Pattern=`^https://`
	// +kubebuilder:validation:MaxLength=2048
	UserInfoEndpoint string `json:"userInfoEndpoint"`
	// SecretName is a Secret of the Backend's namespace with the keys clientID and clientSecret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`

	Session `json:",inline"`
}

// Cognito is a user pool, and the client that load balancers use there.
type Cognito struct {
	// UserPoolARN is the pool's Amazon Resource Name.
	// +kubebuilder:validation:Pattern=`^arn:`
	// +kubebuilder:validation:MaxLength=2048
	UserPoolARN string `json:"userPoolARN"`
	// UserPoolClientID is the pool's client.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	UserPoolClientID string `json:"userPoolClientID"`
	// UserPoolDomain is the prefix of the pool's domain, or all of it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	UserPoolDomain string `json:"userPoolDomain"`

	Session `json:",inline"`
}

// Session has the settings of a signed-in session: the claims to ask for, the cookie and the duration.
type Session struct {
	// OnUnauthenticatedRequest is for users that are not signed in: authenticate sends them to sign
	// in, deny answers 401, allow lets them through.
	// +kubebuilder:validation:Enum=authenticate;deny;allow
	// +kubebuilder:default=authenticate
	OnUnauthenticatedRequest string `json:"onUnauthenticatedRequest,omitempty"`
	// Scope is the claims to ask for, separated by spaces.
	// +kubebuilder:default=openid
	// +kubebuilder:validation:MaxLength=1024
	Scope string `json:"scope,omitempty"`
	// CookieName is the beginning of the name of the cookie that keeps the session. A dash and 16
	// digits follow, which the namespace, the identity provider and the client decide: a session is
	// good for no other sign-in.
	// +kubebuilder:default=AWSELBAuthSessionCookie
	// +kubebuilder:validation:MaxLength=255
	CookieName string `json:"cookieName,omitempty"`
	// TimeoutSeconds is how long the session lasts; unset, a week.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	// +kubebuilder:default=604800
	TimeoutSeconds int64 `json:"timeoutSeconds,omitempty"`
	// Parameters are added to the request that sends users to sign in.
	// +kubebuilder:validation:MaxProperties=10
	Parameters map[string]string `json:"parameters,omitempty"`
}

// JWT says which tokens are valid.
type JWT struct {
	// Issuer of the tokens.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Issuer string `json:"issuer"`
	// KeysEndpoint is where the keys are published (JWKS) that the tokens are signed with.
	// +kubebuilder:validation:Pattern=`^https://`
	// +kubebuilder:validation:MaxLength=256
	KeysEndpoint string `json:"keysEndpoint"`
	// Claims that a token needs, besides being valid at the time.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Claims []Claim `json:"claims,omitempty"`
}

// Claim is a claim that a token needs, and the accepted values.
type Claim struct {
	// Name of the claim. The issuer and the times are validated anyway.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="!(self in ['exp', 'iss', 'nbf', 'iat'])",message="is validated anyway"
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`
	// Format of the claim's value.
	// +kubebuilder:validation:Enum=single-string;string-array;space-separated-values
	// +kubebuilder:default=single-string
	Format string `json:"format,omitempty"`
	// Values are the accepted values: a token needs one of them.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	Values []string `json:"values"`
}
