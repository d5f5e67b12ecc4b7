package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"fairlead.dev/fairlead/cli/operator"
	"fairlead.dev/fairlead/cli/output"
	"fairlead.dev/fairlead/model/check"
	"fairlead.dev/fairlead/providers/clouds"
)

// This file runs check over findings that a test makes up. test/check runs it against clouds and a
// cluster.

// finding has check find something.
func finding(all ...check.Finding) Providers {
	return testProviders().with(func(c *clouds.Cloud) {
		c.Check = func(context.Context, clouds.Environment) []check.Finding { return all }
	})
}

func TestCheckSaysWhatItFoundInALineEach(t *testing.T) {
	with := finding(check.Good("a", "region", "eu-west-1"), check.Bad("b", "quota", "1 of 1\nare used", "raise it"), check.Unsure("c", "right", "", "ask"))
	got := runWith(t, with, "check", "--provider", "fake", "--kubeconfig", "none")
	const want = "✓ region: eu-west-1\n✗ quota: 1 of 1\\nare used; raise it\n? right; ask\n" +
		"? cluster: skipped: --kubeconfig is none\n1 passed, 1 failed, 2 unknown\n"
	if got.code != exitFail || got.out != want || got.err != "" {
		t.Errorf("exit code %d, %q on standard error, it says\n%s\nwant\n%s", got.code, got.err, got.out, want)
	}
	got = runWith(t, with, "check", "--provider", "fake", "--kubeconfig", "none", "-o", "json")
	var report output.FindingsReport
	if err := json.Unmarshal([]byte(got.out), &report); err != nil || got.code != exitFail || report.Wrong != 1 || report.Unknown != 2 || len(report.Findings) != 4 {
		t.Errorf("error %v, exit code %d, report %s", err, got.code, got.out)
	}
}

// TestCheckNamesTheProviderThatItAssumes: who wants to check AWS, and does not say so, is told.
func TestCheckNamesTheProviderThatItAssumes(t *testing.T) {
	const want = "? provider: none is named, so fake is checked, and no other cloud; name yours, such as --provider aws\n"
	with := finding(check.Good("a", "region", "eu-west-1"))
	if got := runWith(t, with, "check", "--kubeconfig", "none"); got.code != exitDone || !strings.HasPrefix(got.out, want) {
		t.Errorf("no provider: %+v", got)
	}
	if got := runWith(t, with, "check", "--kubeconfig", "none", "--provider", "fake"); strings.Contains(got.out, "? provider") {
		t.Errorf("a provider: %+v", got)
	}
	t.Setenv("FAIRLEAD_PROVIDER", "fake") // as in the operator's pod
	if got := runWith(t, with, "check", "--kubeconfig", "none"); strings.Contains(got.out, "? provider") {
		t.Errorf("a provider in the environment: %+v", got)
	}
}

func TestCheckIsDoneWhereNothingIsWrong(t *testing.T) {
	if got := runWith(t, finding(check.Unsure("c", "right", "", "")), "check", "--kubeconfig", "none"); got.code != exitDone {
		t.Errorf("exit code %d: %+v", got.code, got)
	}
}

func TestCheckHasTheSettingsOfTheOperator(t *testing.T) {
	var region, vpc string
	with := testProviders()
	with.Clouds["aws"] = clouds.Cloud{Flags: func(flags *pflag.FlagSet) {
		flags.StringVar(&region, "aws-region", "", "")
		flags.StringVar(&vpc, "aws-vpc-id", "", "")
	}}
	with = with.with(func(c *clouds.Cloud) {
		c.Check = func(context.Context, clouds.Environment) []check.Finding { return nil }
	})
	t.Setenv("FAIRLEAD_AWS_REGION", "eu-west-1")
	t.Setenv("FAIRLEAD_LEADER_ELECT", "true")
	got := runWith(t, with, "check", "--kubeconfig", "none", "--aws-vpc-id", "vpc-1")
	if got.code != exitDone || region != "eu-west-1" || vpc != "vpc-1" {
		t.Errorf("exit code %d, %q, region %s, VPC %s", got.code, got.err, region, vpc)
	}
}

func TestCheckOfAClusterThatIsNotThere(t *testing.T) {
	config := directory(t, map[string]string{"config": `{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: c}}], clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}], users: [{name: c, user: {}}]}`}) + "/config"
	got := fairlead(t, "check", "--kubeconfig", config)
	if got.code != exitFail || !strings.Contains(got.out, "✗ API server: ") {
		t.Errorf("a kubeconfig that was named: exit code %d, %q, it says\n%s", got.code, got.err, got.out)
	}
	t.Setenv("KUBECONFIG", config)
	got = fairlead(t, "check")
	if got.code != exitDone || !strings.Contains(got.out, "? cluster: skipped: ") {
		t.Errorf("one that is around: exit code %d, %q, it says\n%s", got.code, got.err, got.out)
	}
}

func TestCheckKnowsTheVersionsOfKubernetes(t *testing.T) {
	if oldest, newest := supported(); oldest < 20 || newest < oldest {
		t.Errorf("%q is read as 1.%d to 1.%d", operator.KubernetesVersions, oldest, newest)
	}
}

func TestCheckThatMakesThingsPutsThemInOrder(t *testing.T) {
	for line, want := range map[string]bool{"check": false, "check --prove": true, "check --provider aws --prove=true --yes": true, "check --clean": true, "plan": false, "provider check http://127.0.0.1:9000": true, "provider": false} {
		if got := RunsUntilInterrupted(strings.Fields(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

func TestCheckProvesOnlyWhatCanBeProved(t *testing.T) {
	got := fairlead(t, "check", "--prove", "--yes")
	if got.code != exitFail || got.err != "error: --prove: there is nothing to prove of provider \"fake\"\n" {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
}
