package settings

import (
	"regexp"
	"strconv"

	"fairlead.dev/fairlead/api/v1alpha1"
)

// This file has the tables. The markers of package v1alpha1 have the same bounds, which the API
// server checks: a test of package settings compares them.

// week is the longest time of cookies of targets and of sign-ins, in seconds.
const week = 7 * 24 * 60 * 60

// Bounds of several fields.
var (
	port  = Bound{Least: 1, Most: 65535}
	label = Bound{
		Longest: 63, Pattern: regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`),
		Unlike: "must have lower-case letters, digits and dashes, and no dash at either end",
	}
	groupName = Bound{
		Longest: 63, Pattern: regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`),
		Unlike: "must have lower-case letters, digits, dashes and dots, and a letter or digit at either end",
	}
	cookieTime  = Bound{Least: 1, Most: week}
	sessionTime = Bound{Least: 1, Most: week, Default: strconv.Itoa(week)}

	httpsURL    = url(2048)
	identifier  = Bound{Shortest: 1, Longest: 255}
	pattern     = Bound{Longest: 1024, Pattern: regexp.MustCompile(`^\^`), Unlike: "must begin with ^"}
	replacement = Bound{Shortest: 1, Longest: 1024}

	unauthenticated = Bound{
		Known: []string{"authenticate", "deny", "allow"}, Default: "authenticate",
	}
	scope      = Bound{Longest: 1024, Default: "openid"}
	cookieName = Bound{Longest: 255, Default: "AWSELBAuthSessionCookie"}
	parameters = Bound{MostItems: 10}
)

var targetGroupARN = regexp.MustCompile(`^arn:[a-z0-9-]+:elasticloadbalancing:[a-z0-9-]+:` +
	`[0-9]{12}:targetgroup/[a-zA-Z0-9-]{1,32}/[a-zA-Z0-9]+$`)

// url returns the bound of an address that is reached over TLS.
func url(longest int) Bound {
	return Bound{
		Longest: longest, Pattern: regexp.MustCompile(`^https://`), Unlike: "must begin with https://",
	}
}

// BackendFields is the table of the spec of a Backend.
var BackendFields = Fields{
	"redirect.scheme": {Known: []string{"http", "https"}},
	"redirect.host":   {Shortest: 1, Longest: 253},
	"redirect.port":   {Longest: 7},
	"redirect.path": {
		Longest: 1024, Pattern: regexp.MustCompile(`^/`), Unlike: "must be an absolute path",
	},
	"redirect.query":            {Shortest: 1, Longest: 1024},
	"redirect.statusCode":       {Numbers: []int{301, 302}, Default: "302"},
	"fixedResponse.statusCode":  {Least: 200, Most: 599},
	"fixedResponse.contentType": {Longest: 255},
	"fixedResponse.body":        {Longest: 8192},
	"services":                  {FewestItems: 1, MostItems: 100},
	"services[].name":           {Shortest: 1, Longest: 63},
	"services[].port.name":      {Shortest: 1, Longest: 63},
	"services[].port.number":    port,
	"services[].targetGroupARN": {
		Longest: 256, Pattern: targetGroupARN, Unlike: "must be the ARN of a target group",
	},
	"services[].weight":          {Least: 0, Most: 999, Default: "1"},
	"stickiness.durationSeconds": cookieTime,
	"rewrite.url.pattern":        pattern,
	"rewrite.url.replacement":    replacement,
	"rewrite.host.pattern":       pattern,
	"rewrite.host.replacement":   replacement,

	"authenticate.oidc.issuer":                   httpsURL,
	"authenticate.oidc.authorizationEndpoint":    httpsURL,
	"authenticate.oidc.tokenEndpoint":            httpsURL,
	"authenticate.oidc.userInfoEndpoint":         httpsURL,
	"authenticate.oidc.secretName":               {Shortest: 1, Longest: 253},
	"authenticate.oidc.onUnauthenticatedRequest": unauthenticated,
	"authenticate.oidc.scope":                    scope,
	"authenticate.oidc.cookieName":               cookieName,
	"authenticate.oidc.timeoutSeconds":           sessionTime,
	"authenticate.oidc.parameters":               parameters,

	"authenticate.cognito.userPoolARN": {
		Longest: 2048, Pattern: regexp.MustCompile(`^arn:`), Unlike: "must begin with arn:",
	},
	"authenticate.cognito.userPoolClientID":         identifier,
	"authenticate.cognito.userPoolDomain":           identifier,
	"authenticate.cognito.onUnauthenticatedRequest": unauthenticated,
	"authenticate.cognito.scope":                    scope,
	"authenticate.cognito.cookieName":               cookieName,
	"authenticate.cognito.timeoutSeconds":           sessionTime,
	"authenticate.cognito.parameters":               parameters,

	"authenticate.jwt.issuer":        {Shortest: 1, Longest: 256},
	"authenticate.jwt.keysEndpoint":  url(256),
	"authenticate.jwt.claims":        {MostItems: 10},
	"authenticate.jwt.claims[].name": {Shortest: 1, Longest: 255},
	"authenticate.jwt.claims[].format": {
		Known:   []string{"single-string", "string-array", "space-separated-values"},
		Default: "single-string",
	},
	"authenticate.jwt.claims[].values": {FewestItems: 1, MostItems: 10},
}

// ClassFields is the table of the spec of a class, without the fields that are settings.
var ClassFields = Fields{
	"subnets":        {MostItems: 100},
	"subnetTags":     {MostItems: 20},
	"securityGroups": {MostItems: 5},
	"annotations":    {MostItems: 100},
	"targetPorts":    {FewestItems: 1, MostItems: 100},

	"allowedTargetGroups": {MostItems: 100},
	"allowedTargetGroups[]": {
		Longest: 256, Pattern: regexp.MustCompile(`^arn:[!-~]*$`),
		Unlike: "must be the ARN of a target group, in which * stands for any text",
	},

	"targetGroupBindings":                {MostItems: 1000},
	"targetGroupBindings[].targetGroups": {FewestItems: 1, MostItems: 1000},
	"targetGroupBindings[].targetGroups[]": {
		Longest: 256, Pattern: regexp.MustCompile(`^arn:[!-~]*$`),
		Unlike: "must be the ARN of a target group, in which * stands for any text",
	},

	"tags": {MostItems: 40}, // clouds take 50 of each object, and Fairlead has up to ten

	"groups":               {MostItems: 1000},
	"groups[].name":        groupName,
	"groups[].owner":       label,
	"allowedHosts":         {MostItems: 1000},
	"allowedHosts[].hosts": {MostItems: 1000},

	"adoption.from": {Known: []string{v1alpha1.AdoptALB}},
	"adoption.clusterName": {
		Longest: 256, Pattern: regexp.MustCompile(`^[0-9A-Za-z+=._:/@-]+$`), // a value of tags in AWS
		Unlike: "must have letters, digits and + = . _ : / @ -",
	},
	"adoption.only": {FewestItems: 1, MostItems: 1000},
	"adoption.only[]": {
		Longest: 317, Pattern: regexp.MustCompile(`^[a-z0-9]([-a-z0-9./]*[a-z0-9])?$`),
		Unlike: "must be the name of a group, or namespace/name of an Ingress",
	},
	"adoption.names": {MostItems: 1000},
	"nginx.config":   {MostItems: 200},
	"nginx.service":  {MostItems: 200},
	"nginx.changed": {
		Known: []string{v1alpha1.NGINXChangedServe, v1alpha1.NGINXChangedRefuse}, Default: v1alpha1.NGINXChangedServe,
	},
	"nginx.caseFolding": {
		Known:   []string{v1alpha1.CaseFoldingExact, v1alpha1.CaseFoldingLower, v1alpha1.CaseFoldingOff},
		Default: v1alpha1.CaseFoldingExact,
	},
	"adoption.names[].stack": {
		Longest: 317, Pattern: regexp.MustCompile(`^[a-z0-9]([-a-z0-9./]*[a-z0-9])?$`),
		Unlike: "must be the name of a group, or namespace/name of an Ingress",
	},
	"adoption.names[].name": {
		Longest: 32, Pattern: regexp.MustCompile(`^[0-9A-Za-z]([0-9A-Za-z-]{0,30}[0-9A-Za-z])?$`),
		Unlike: "must have letters, digits and dashes, at most 32, and no dash at either end",
	},

	"expectations.namespace": label,
	"expectations.name": {
		Longest: 253, Pattern: regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`),
		Unlike: "must have lower-case letters, digits, dashes and dots, and no dash or dot at either end",
	},

	"ports":        {MostItems: 50},
	"ports[].port": port,
	"ports[].mutualAuthentication.mode": {
		Known: []string{v1alpha1.MutualOff, v1alpha1.MutualPassthrough, v1alpha1.MutualVerify},
	},
	"ports[].mutualAuthentication.trustStore": {Shortest: 1},
}
