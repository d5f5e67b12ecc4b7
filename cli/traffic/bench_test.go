package traffic

import (
	"bufio"
	"compress/gzip"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"fairlead.dev/fairlead/model/diag"
	"fairlead.dev/fairlead/model/replay"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
)

// This file measures how many lines are replayed in a second.

var benchLines = flag.Int("lines", 200_000, "lines of the benchmark")

// The load balancer of the benchmark, and its traffic.
const (
	benchHosts    = 100
	pathsPerHost  = 20
	benchPopular  = 5_000 // URLs that half of the requests are for; the others have a number of their own
	benchLogFiles = 8
)

// benchTable is a table of many hosts and paths. With after, a path of each tenth host goes
// elsewhere.
func benchTable(after bool) *precedence.Table {
	c := routing.Config{Key: "fairlead/shop/@all/internal", Listeners: []routing.Listener{{Port: 443, Protocol: routing.HTTPS}}}
	for h := range benchHosts {
		owner := routing.Owner{Namespace: "shop", Name: fmt.Sprintf("web-%d", h)}
		host := routing.Host(fmt.Sprintf("h%d.example.com", h))
		c.Names = append(c.Names, routing.Name{Host: host, Owner: owner, Ports: []int32{443}})
		for p := range pathsPerHost {
			to := routing.To(routing.BackendID(fmt.Sprintf("shop/web-%d-%d:80", h, p)))
			if after && h%10 == 0 && p == 0 {
				to = routing.To("shop/other:80")
			}
			c.Routes = append(c.Routes, routing.Route{Host: host, Path: routing.NewPath(routing.Prefix, fmt.Sprintf("/api/v1/things-%d", p)), Action: to, Ports: []int32{443}, Owner: owner, Index: p,
				Source: diag.Source{Kind: "Ingress", Namespace: "shop", Name: owner.Name, Field: fmt.Sprintf("spec.rules[0].http.paths[%d]", p)}})
		}
	}
	return precedence.New(c)
}

// benchLogs writes compressed files of lines as AWS writes them.
func benchLogs(b *testing.B, lines int) []string {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	var files []string
	for i := range benchLogFiles {
		name := filepath.Join(b.TempDir(), fmt.Sprintf("%d.log.gz", i))
		file, err := os.Create(name)
		if err != nil {
			b.Fatal(err)
		}
		zip := gzip.NewWriter(file)
		out := bufio.NewWriter(zip)
		for range lines / benchLogFiles {
			h, p, id := rng.IntN(benchHosts), rng.IntN(pathsPerHost), rng.IntN(benchPopular)
			if rng.IntN(2) == 0 {
				id = rng.IntN(1 << 30)
			}
			fmt.Fprintf(out, `h2 2026-07-02T22:23:00.%06dZ app/my-loadbalancer/50dc6c495c0c9188 10.%d.%d.%d:%d 10.0.%d.%d:8080 0.000 0.0%d 0.000 200 200 %d %d "GET https://h%d.example.com:443/api/v1/things-%d/%d?session=%016x HTTP/2.0" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.0.0 Safari/537.36" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.3 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/fl-shop-web-%d/73e2d6bc24d8a067 "Root=1-58337327-%024x" "h%d.example.com" "arn:aws:acm:us-east-2:123456789012:certificate/12345678-1234-1234-1234-123456789012" %d 2026-07-02T22:22:48.364000Z "waf,forward" "-" "-" "10.0.0.66:9000" "200" "-" "-" TID_%016x "-" "-" "-"`+"\n",
				rng.IntN(1e6), rng.IntN(256), rng.IntN(256), rng.IntN(256), 1024+rng.IntN(60000), rng.IntN(256), rng.IntN(256), rng.IntN(100), rng.IntN(1000), rng.IntN(100000),
				h, p, id, rng.Uint64(), 100+rng.IntN(40), h, rng.Uint64(), h, 100+h*pathsPerHost+p, rng.Uint64())
		}
		if err := out.Flush(); err != nil {
			b.Fatal(err)
		}
		if err := zip.Close(); err != nil {
			b.Fatal(err)
		}
		if err := file.Close(); err != nil {
			b.Fatal(err)
		}
		files = append(files, name)
	}
	return files
}

// BenchmarkLogs replays compressed logs of a load balancer with 2,000 paths, with a change.
func BenchmarkLogs(b *testing.B) {
	logs := Logs{Files: benchLogs(b, *benchLines)}
	setup := &replay.Setup{Change: true, Balancers: []replay.Balancer{{Table: benchTable(false), After: benchTable(true)}}}
	var memory runtime.MemStats
	for b.Loop() {
		report, err := logs.Replay(b.Context(), setup)
		if err != nil || report.Unread > 0 || report.Summary.Disagreements > 0 || report.Summary.Compared < int64(*benchLines)-benchLogFiles || report.Change.Changed == 0 {
			b.Fatalf("%v, %+v", err, report.Summary)
		}
	}
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(b.N)*float64(*benchLines)/b.Elapsed().Seconds(), "lines/s")
	b.ReportMetric(float64(memory.Sys)/(1<<20), "MiB")
}
