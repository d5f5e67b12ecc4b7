package remote

import (
	"io"
	"net/http"
	"strings"
	"testing"

	v1 "fairlead.dev/fairlead/api/provider/v1"
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/wire"
)

// FuzzAnswers reads answers that a hostile provider makes up. None may panic.
func FuzzAnswers(f *testing.F) {
	for _, body := range []string{
		`{"key":"k","exists":true,"listeners":[{"port":80,"protocol":"HTTP","default":{"kind":"fixed","fixed":{"status":404}},"rules":[{"priority":1,"rule":{"conditions":[],"action":{"kind":"forward"}}}]}]}`,
		`{"name":"x","versions":[1],"conditions":{"fields":["host","path"]},"limits":{"minPriority":1,"maxPriority":1000},"settingsSchemas":{"loadBalancer":{"$ref":"#/a"}}}`,
		`{"certificates":{"a":["b"]},"names":{"b":["c"]}}`, `{"type":"urn:fairlead:problem:rejected","detail":"\u0000","retryAfterSeconds":-1}`,
		`{"results":[{"id":"a","problem":{"type":""},"address":{"ports":[{"listener":1}]}}]}`, `{"targets":[{"address":"a","port":1,"state":"odd"}]}`, `[]`, `null`, ``,
	} {
		f.Add(200, v1.MediaType, body)
		f.Add(422, v1.ProblemMediaType, body)
	}
	f.Fuzz(func(_ *testing.T, status int, kind, body string) {
		response := &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}, "Retry-After": {body}, "Location": {body}}, Body: io.NopCloser(strings.NewReader(body))}
		got, err := readAnswer(response)
		if err != nil {
			return
		}
		var (
			observed     v1.Observed
			capabilities v1.Capabilities
			facts        v1.Facts
			applied      v1.Applied
			targets      v1.TargetList
		)
		if got.read(call{into: &observed}) == nil {
			_, _ = wire.DecodeObserved(lb.Key(observed.Key), observed)
		}
		if got.read(call{into: &capabilities}) == nil {
			_, _ = wire.DecodeCapabilities(capabilities)
			_, _ = compileSchemas(capabilities.SettingsSchema)
		}
		if got.read(call{into: &facts}) == nil {
			wire.DecodeFacts(facts)
		}
		if got.read(call{into: &applied}) == nil {
			for _, r := range applied.Results {
				_, _ = wire.DecodeResult(r)
			}
		}
		if got.read(call{into: &targets}) == nil {
			wire.DecodeHealth(targets)
		}
	})
}
