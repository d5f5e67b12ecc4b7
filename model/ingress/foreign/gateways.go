package foreign

// This file is the annotations of API gateways that take what they do to requests from an object
// beside the Ingress.

var tyk = controller{
	name:     "the Tyk Operator",
	prefixes: []string{"tyk.io"},
	sources:  []string{"tyk.io/docs/product-stack/tyk-operator/tyk-ingress-controller"},
	settings: []settings{
		{Restricts, asSignIn, nil, "template"}, // an ApiDefinition, which can have authentication and limits of rates
		{Harmless, nothing, nil, "template-kind"},
	},
}

var gravitee = controller{
	name:     "the Gravitee Kubernetes Operator",
	prefixes: []string{"gravitee.io"},
	sources: []string{
		"github.com/gravitee-io/gravitee-kubernetes-operator internal/keys/keys.go",
		"documentation.gravitee.io/gravitee-kubernetes-operator-gko/guides/gravitee-ingress-controller",
	},
	settings: []settings{
		{Restricts, asSignIn, nil, "template"}, // an API definition, which can have plans and policies
		{Harmless, nothing, nil, "last-spec-hash"},
	},
}
