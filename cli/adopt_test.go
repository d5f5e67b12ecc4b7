package cli

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/fairlead/controllers/adoption"
	"fairlead.dev/fairlead/model/adopt"
)

// TestAdoptPrintsWhatIsInTheWay: it is about the cluster, and no difference.
func TestAdoptPrintsWhatIsInTheWay(t *testing.T) {
	report := takeovers{InTheWay: []string{"the controller runs"}}
	report.finish()
	if text := report.Text(false); !strings.Contains(text, "In the way of taking over:\n  the controller runs\n") || report.differs() {
		t.Errorf("it prints %s", text)
	}
}

// TestAdoptCallsTheSameOnlyWhatIsDecided: requests that were not compared, or are not understood, are not the same.
func TestAdoptCallsTheSameOnlyWhatIsDecided(t *testing.T) {
	for text, f := range map[string]foundBalancer{
		"answers: the same for all requests":                                         {Classes: 3},
		"answers: 1 of 3 kinds of requests differ, and 0 are not decided":            {Classes: 3, Differ: 1},
		"answers: 0 of 3 kinds of requests differ, and 1 are not decided":            {Classes: 3, Undecided: 1},
		"answers: 0 of 3 kinds of requests differ, and 0 are not decided":            {Classes: 3, NotUnderstood: []string{"listener 80"}},
		"listener 8080 (HTTP, 3 rules) stays as it is: no Ingress asks for its port": {Stay: []stayingListener{{8080, "HTTP", 3, "arn"}}},
		"not understood: listener 80":                                                {NotUnderstood: []string{"listener 80"}},
		"load balancer, webACL: is x, wanted none; nothing asks for it, so it stays": {
			Settings: []adopt.Difference{{Of: "load balancer", Setting: "webACL", Found: "x", Wanted: "none", Stays: true}},
		},
	} {
		if said := strings.Join(f.lines(), "\n"); !strings.Contains(said, text) {
			t.Errorf("it does not say %q: %s", text, said)
		}
	}
}

// TestWhatAdoptCannotDo says what to give instead.
func TestWhatAdoptCannotDo(t *testing.T) {
	files := filepath.Join(directory(t, map[string]string{"i.yaml": ingressYAML("web", "a.example.com", "/")}), "i.yaml")
	for says, args := range map[string][]string{
		"--from alb is for those of the AWS Load Balancer Controller": {"-f", files},
		"leave out one of them":                               {"--from", "alb", "--live", "-f", files},
		"name files with --filename":                          {"--from", "alb"},
		"it can be alb, an ARN (arn:aws:…) or tags:KEY=VALUE": {"--from", "nginx", "-f", files},
		"an ARN (arn:aws:…) or":                               {"--from", "arn:arn:aws:lb", "-f", files},
		"it can be aws, or NAME=URL":                          {"--from", "alb", "-f", files, "--provider", "fake"},
		"the provider edge cannot say which load balancers others made: the first one that --provider names has to be a cloud that can": {
			"--from", "arn:aws:lb", "-f", files, "--installation-id", "test", "--provider", "edge=" + elsewhere(t),
		},
		"--target-group is for load balancers that no controller made": {"--from", "alb", "--target-group", "arn=shop/web:80", "-f", files},
		"with --yes, --key names one of them, and --all is for all":    {"--from", "alb", "--live", "--yes"},
		"--yes, --status and --finish are about a cluster: add --live": {"--from", "alb", "--yes", "--all", "-f", files},
		"--accept is for --yes": {"--from", "alb", "--live", "--accept", "k"},
	} {
		if got := fairlead(t, append([]string{"adopt"}, args...)...); got.code != 1 || !strings.Contains(got.err, says) {
			t.Errorf("%v: exit code %d: %s", args, got.code, got.err)
		}
	}
}

// TestOnlyCloudsThatTakeLoadBalancersOverAreOffered: one of them is the default.
func TestOnlyCloudsThatTakeLoadBalancersOverAreOffered(t *testing.T) {
	for _, command := range []string{"adopt", "release"} {
		help := fairlead(t, command, "--help").out
		if strings.Contains(help, "--fake-") || !strings.Contains(help, "--aws-region") || !strings.Contains(help, `(default aws)`) {
			t.Errorf("%s: %s", command, help)
		}
	}
	without := testProviders()
	delete(without.Clouds, "aws")
	if got := runWith(t, without, "release"); got.code != 1 || !strings.Contains(got.err, "required flag(s) \"provider\"") {
		t.Errorf("without such a cloud: %+v", got)
	}
}

// TestTheFormerClassHasALineOfItsOwn: it can be copied.
func TestTheFormerClassHasALineOfItsOwn(t *testing.T) {
	class := networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "alb"}}
	lines := progress{Next: "again", FormerClasses: classesOf(adoption.Record{Classes: []networkingv1.IngressClass{class}})}.lines()
	var read networkingv1.IngressClass
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &read); err != nil || read.Name != "alb" {
		t.Errorf("%v of %q", err, lines)
	}
}

// TestTerraformLetsGoOfWhatIsTaken: blocks for what is taken, in both directions, and for nothing else.
func TestTerraformLetsGoOfWhatIsTaken(t *testing.T) {
	text := terraform([]foundBalancer{{Name: "shop.prod", Resources: []adopt.Resource{
		{Kind: adopt.LoadBalancer, Handle: "arn:lb"}, {Kind: adopt.TargetGroup, Handle: "arn:tg", Wanted: "shop/web:80"},
		{Kind: adopt.TargetGroup, Handle: "arn:left"}, {Kind: adopt.Listener, Handle: "arn:left/2", Stays: true}, {Kind: adopt.SecurityGroup, Handle: "sg-1"},
	}}})
	for _, part := range []string{
		"removed {\n  from = aws_lb.shop_prod_0\n  lifecycle { destroy = false }\n}\n", "removed {\n  from = aws_lb_target_group.shop_prod_1\n",
		"import {\n  to = aws_lb.shop_prod_0\n  id = \"arn:lb\"\n}\n",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("it lacks %s: %s", part, text)
		}
	}
	if strings.Contains(text, "arn:left") || strings.Contains(text, "sg-1") || terraform(nil) != "" {
		t.Errorf("it has what is not taken: %s", text)
	}
}

// TestAnErrorIsToldWhereSomethingIsLeftToDo: an error is printed, also if other load balancers wait for people.
func TestAnErrorIsToldWhereSomethingIsLeftToDo(t *testing.T) {
	waits := []progress{{Outcome: adoption.Outcome{Switch: []string{"Ingress shop/one"}}}}
	if err := unfinished(waits, nil); !errors.Is(err, errToDo) {
		t.Errorf("without one: %v", err)
	}
	ended := errors.New("the other one")
	if err := unfinished(waits, ended); !errors.Is(err, ended) || errors.Is(err, errToDo) {
		t.Errorf("with one: %v", err)
	}
}

func TestAdoptSaysHowIngressesGetAnotherClass(t *testing.T) {
	for text, want := range map[string]string{
		"Ingress shop/a: its IngressClass alb is of the controller ingress.k8s.aws/alb": "replace their IngressClass",
		"Ingress shop/a: its annotation kubernetes.io/ingress.class is alb":             "remove the annotation kubernetes.io/ingress.class",
	} {
		if got := switchClass(adoption.Outcome{Switch: []string{text}}, nil); !strings.Contains(got, want) {
			t.Errorf("%s: it says %q", text, got)
		}
	}
}

// TestWhatIsInTheWayOfAllIsSaidOnce, and of each what is in its way alone.
func TestWhatIsInTheWayOfAllIsSaidOnce(t *testing.T) {
	report := takeovers{InTheWay: []string{"the controller runs"}, Progress: []progress{
		{Key: "k1", Name: "n1", Outcome: adoption.Outcome{Obstacles: []string{"the controller runs"}}},
		{Key: "k2", Name: "n2", Outcome: adoption.Outcome{Obstacles: []string{"the controller runs", "its name is other"}}},
		{Key: "k3", Name: "n3", Outcome: adoption.Outcome{State: "Taken"}},
	}}
	report.finish()
	text := report.Text(false)
	for _, want := range []string{"n1, k1: not recorded\n  in the way: what is said above\n\n",
		"n2, k2: not recorded\n  in the way: its name is other\n  in the way: what is said above\n\n", "n3, k3: Taken\n\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Count(text, "the controller runs") != 1 || len(report.Progress[0].Obstacles) != 1 {
		t.Errorf("it is said again, or is lost:\n%s", text)
	}
}

// TestACommandThatIsNamedCanBeRun as it is written: the next step names the load balancer by what stays the same on the way.
func TestACommandThatIsNamedCanBeRun(t *testing.T) {
	for _, state := range []adoption.State{adoption.Recorded, adoption.Prepared, adoption.Taken, adoption.Releasing, adoption.Returned, adoption.Released} {
		for _, finishing := range []bool{false, true} {
			r := adoption.Record{State: state, Key: "alb/shop/@all/internal=k8s-all-1", Name: "k8s-all-1"}
			r.Finishing = finishing
			text := nextOf(r)
			if waits := strings.Contains(text, "former class"); waits != (state == adoption.Returned && !finishing) {
				t.Errorf("%s: the class is to be given back once the tags are: %s", state, text)
			}
			for part := range strings.SplitSeq(text, "fairlead ") {
				command := strings.Fields(part)
				if len(command) > 0 && (command[0] == "adopt" || command[0] == "release") && !strings.Contains(part, "--yes --key k8s-all-1 ") {
					t.Errorf("%s: %s", state, text)
				}
			}
		}
	}
	c := chosen{key: "k8s-all-1", accept: []string{"k8s-all-1"}}
	if !c.covers("alb/shop/@all/internal=k8s-all-1", "k8s-all-1") || c.covers("alb/shop/@all/internal=k8s-all-1", "k8s-all-2") ||
		!c.accepts("k", "k8s-all-1") || c.accepts("k", "k8s-all-2") {
		t.Error("a name is not that of a load balancer")
	}
}
