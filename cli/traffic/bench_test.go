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
	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/replay"
	"fairlead.dev/fairlead/model/routing"
	"fairlead.dev/fairlead/model/routing/precedence"
	"fairlead.dev/fairlead/test/cputime"
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
			fmt.Fprintf(out, `h2 2026-07-02T22:23:00.%06dZ app/my-loadbalancer/50dc6c495c0c9188 10.%d.%d.%d:%d 10.0.%d.%d:8080 0.000 0.0%d 0.000 200 200 %d %d "GET https://h%d.example.com:443/api/v1/things-%d/%d?session=%016x HTTP/2.0" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.0.0 Safari/537.36" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.3 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/fl-shop-web-%d-%d/73e2d6bc24d8a067 "Root=1-58337327-%024x" "h%d.example.com" "arn:aws:acm:us-east-2:123456789012:certificate/12345678-1234-1234-1234-123456789012" %d 2026-07-02T22:22:48.364000Z "waf,forward" "-" "-" "10.0.0.66:9000" "200" "-" "-" TID_%016x "-" "-" "-"`+"\n",
				rng.IntN(1e6), rng.IntN(256), rng.IntN(256), rng.IntN(256), 1024+rng.IntN(60000), rng.IntN(256), rng.IntN(256), rng.IntN(100), rng.IntN(1000), rng.IntN(100000),
				h, p, id, rng.Uint64(), 100+rng.IntN(40), h, p, rng.Uint64(), h, 100+h*pathsPerHost+p, rng.Uint64())
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

// benchObserved is the load balancer in the cloud, with a rule for each path.
func benchObserved() *lb.Observed {
	out := &lb.Observed{Key: "fairlead/shop/@all/internal", Exists: true, Handle: "arn:aws:elasticloadbalancing:us-east-2:123456789012:loadbalancer/app/my-loadbalancer/50dc6c495c0c9188"}
	l := lb.ObservedListener{Handle: "arn:listener", Port: 443, Protocol: routing.HTTPS, Default: lb.Action{Kind: "fixed", Status: 404}}
	for h := range benchHosts {
		for p := range pathsPerHost {
			id := lb.GroupID(fmt.Sprintf("shop/web-%d-%d:80", h, p))
			path := fmt.Sprintf("/api/v1/things-%d", p)
			l.Rules = append(l.Rules, lb.ObservedRule{Handle: "arn:rule", Priority: 100 + h*pathsPerHost + p, Rule: lb.Rule{
				Conditions: []lb.Condition{{Field: "host", Values: []string{fmt.Sprintf("h%d.example.com", h)}}, {Field: "path", Values: []string{path, path + "/*"}}},
				Action:     lb.Action{Kind: "forward", Targets: []lb.Weighted{{Group: id, Weight: 1}}},
			}})
			out.TargetGroups = append(out.TargetGroups, lb.ObservedTargetGroup{TargetGroup: lb.TargetGroup{ID: id}, Handle: fmt.Sprintf("arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/fl-shop-web-%d-%d/73e2d6bc24d8a067", h, p)})
		}
	}
	out.Listeners = []lb.ObservedListener{l}
	return out
}

// BenchmarkLogs replays compressed logs of a load balancer with 2,000 paths, with a change.
func BenchmarkLogs(b *testing.B) {
	logs := Logs{Files: benchLogs(b, *benchLines)}
	for name, observed := range map[string]*lb.Observed{"from manifests": nil, "with 2000 rules": benchObserved()} {
		b.Run(name, func(b *testing.B) {
			setup := &replay.Setup{Change: true, Balancers: []replay.Balancer{{Table: benchTable(false), After: benchTable(true), Observed: observed}}}
			before := cputime.Self(b)
			for b.Loop() {
				report, err := logs.Replay(b.Context(), setup)
				if err != nil || report.Unread > 0 || report.Summary.Disagreements > 0 || report.Summary.Compared < int64(*benchLines)-benchLogFiles || report.Change.Changed == 0 {
					b.Fatalf("%v, %+v", err, report.Summary)
				}
			}
			spent := cputime.Self(b) - before
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			b.ReportMetric(float64(b.N)*float64(*benchLines)/b.Elapsed().Seconds(), "lines/s")
			b.ReportMetric(10e6*spent.Seconds()/float64(b.N)/float64(*benchLines), "cpu-s/10M-lines")
			b.ReportMetric(float64(memory.Sys)/(1<<20), "MiB")
		})
	}
}
