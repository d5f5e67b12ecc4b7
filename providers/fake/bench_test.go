package fake_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"fairlead.dev/fairlead/providers/fake"
)

// This file is what a request through the load balancer costs, client and target included.

func BenchmarkRequests(b *testing.B) {
	for name, c := range map[string]struct {
		url, version string
		port         int32
	}{
		"HTTP/1.1":          {"http://shop.example.com/", "HTTP/1.1", 80},
		"HTTP/1.1 over TLS": {"https://shop.example.com/", "HTTP/1.1", 443},
		"HTTP/2":            {"https://shop.example.com/", "HTTP/2.0", 443},
	} {
		b.Run(name, func(b *testing.B) {
			cloud := start(b, fake.Options{Serve: true, CheckEvery: time.Hour})
			o := secured(b, cloud, "HTTP1", newPod(b, echo).Target, newPod(b, echo).Target)
			client := client(b, cloud, o, c.port, c.version)
			b.ReportAllocs()
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					response, err := client.Get(c.url)
					if err != nil {
						b.Error(err)
						return
					}
					if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
						b.Errorf("error %v, status %d", err, response.StatusCode)
					}
					response.Body.Close()
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
