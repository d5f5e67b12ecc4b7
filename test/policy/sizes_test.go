package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/fairlead/test/albsim/iam"
)

// This file makes the policy longer in every way that the guide describes, one after the other, and
// counts it: inline policies of a role have 10,240 characters, a managed policy has 6,144, without
// white space (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html).

const guide = "../../docs/how-to/iam.md"

const inlineLimit, managedLimit = 10240, 6144

// dense is how many characters of a document AWS counts.
func dense(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := iam.ParsePolicy(text); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		t.Fatal(err)
	}
	return len(out.String())
}

// commands are the lines of the guide that read the policy and write it anew, in their order; those
// that cut it in two are the last.
func commands(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	joined := strings.ReplaceAll(string(text), "\\\n", " ")
	all := regexp.MustCompile(`(?m)^(sed|jq) .*$`).FindAllString(joined, -1)
	cuts := func(c string) bool {
		return strings.Contains(c, "policy-1.json") || strings.Contains(c, "policy-2.json")
	}
	slices.SortStableFunc(all, func(a, b string) int {
		return strings.Compare(fmt.Sprint(cuts(a)), fmt.Sprint(cuts(b)))
	})
	if len(all) != 5 {
		t.Fatalf("the guide has these commands for the policy: %q", all)
	}
	return all
}

// addByHand adds what the guide has users write themselves: user pools, and a statement.
func addByHand(t *testing.T, file string) {
	t.Helper()
	p, err := iam.ReadPolicy(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	written := regexp.MustCompile(`(?s)\{\s+"Sid": "ChangeRulesOfOthers".*?\n}`).Find(text)
	var more iam.Statement
	if err := json.Unmarshal(written, &more); err != nil {
		t.Fatal(err)
	}
	for i, s := range p.Statement {
		if s.Sid == "SignIn" {
			for range 10 {
				p.Statement[i].Resource = append(p.Statement[i].Resource, "arn:*:cognito-idp:*:*:userpool/ap-southeast-1_aBcDeFgHi")
			}
		}
	}
	p.Statement = append(p.Statement, more)
	longer, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, longer, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSizes(t *testing.T) {
	shipped, err := filepath.Abs("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(shipped, filepath.Join(dir, "docs")); err != nil {
		t.Fatal(err)
	}
	before := dense(t, "../../docs/iam-policy.json")
	for i, command := range commands(t) {
		run := exec.CommandContext(t.Context(), "bash", "-euc", command)
		run.Dir = dir
		run.Env = append(os.Environ(), "CLUSTER="+strings.Repeat("c", 100), // the longest name of a cluster on EKS
			"POOL=ap-southeast-1_aBcDeFgHi", "INSTALLATION=01234567-89ab-cdef-0123-456789abcdef")
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		if i == 0 {
			addByHand(t, filepath.Join(dir, "policy.json"))
		}
		after := dense(t, filepath.Join(dir, "policy.json"))
		if i < 3 && after <= before || after > inlineLimit {
			t.Errorf("after %q the policy has %d characters, and had %d; AWS accepts %d", command, after, before, inlineLimit)
		}
		before = after
	}
	statements := 0
	for _, part := range []string{"policy-1.json", "policy-2.json"} {
		size := dense(t, filepath.Join(dir, part))
		t.Logf("%s has %d characters of %d", part, size, before)
		if size > managedLimit {
			t.Errorf("%s has %d characters; AWS accepts %d in a managed policy", part, size, managedLimit)
		}
		p, err := iam.ReadPolicy(filepath.Join(dir, part))
		if err != nil {
			t.Fatal(err)
		}
		statements += len(p.Statement)
	}
	whole, err := iam.ReadPolicy(filepath.Join(dir, "policy.json"))
	if err != nil {
		t.Fatal(err)
	}
	if statements != len(whole.Statement) {
		t.Errorf("the two parts have %d statements of %d", statements, len(whole.Statement))
	}
}
