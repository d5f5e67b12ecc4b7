package aws_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/model/plan"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws"
	"fairlead.dev/fairlead/providers/aws/client"
	"fairlead.dev/fairlead/test/albsim"
)

// This file asks an AWS that does not answer.

// A silentClient answers no call of some actions until the call is ended, and passes the others on.
type silentClient struct {
	sdk.HTTPClient
	silent func(action string) bool

	mu    sync.Mutex
	calls []string
}

func (c *silentClient) Do(r *http.Request) (*http.Response, error) {
	action := actionOf(r)
	c.mu.Lock()
	c.calls = append(c.calls, action)
	c.mu.Unlock()
	if c.silent(action) {
		<-r.Context().Done()
		return nil, &url.Error{Op: "Post", URL: r.URL.String(), Err: r.Context().Err()}
	}
	return c.HTTPClient.Do(r)
}

// actionOf is what a request asks for: JSON protocols name it in a header, the others in the body.
func actionOf(r *http.Request) string {
	if _, action, found := strings.Cut(r.Header.Get("X-Amz-Target"), "."); found {
		return action
	}
	if r.Body == nil {
		return ""
	}
	text, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(text))
	if err != nil {
		return ""
	}
	form, err := url.ParseQuery(string(text))
	if err != nil {
		return ""
	}
	return form.Get("Action")
}

func newSilent(silent func(action string) bool) (*silentClient, *aws.Provider) {
	config := albsim.New(albsim.Options{}).Config()
	sender := &silentClient{HTTPClient: config.HTTPClient, silent: silent}
	config.HTTPClient = sender
	return sender, aws.New(aws.Options{Config: config, Installation: "test", VPC: albsim.VPC, Rates: client.PublishedRates()})
}

func all(string) bool { return true }

func TestACallThatIsNotAnsweredEnds(t *testing.T) {
	group := lb.TargetGroup{ID: "shop/web:80", TargetType: "ip", Protocol: "HTTP", Version: "HTTP1", Family: "ipv4"}
	for name, call := range map[string]func(p *aws.Provider) error{
		"Observe": func(p *aws.Provider) error { _, err := p.Observe(context.Background(), key, true); return err },
		"Apply": func(p *aws.Provider) error {
			_, err := p.Apply(context.Background(), &lb.Observed{Key: key}, plan.CreateTargetGroup{Group: group})
			return err
		},
		"List": func(p *aws.Provider) error { _, err := p.List(context.Background()); return err },
		"Lookup": func(p *aws.Provider) error {
			_, err := p.Lookup(context.Background(), lb.Questions{Limits: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, p := newSilent(all)
				began := time.Now()
				err := call(p)
				if took := time.Since(began); took < 15*time.Second || took > time.Minute {
					t.Errorf("it took %s", took)
				}
				// What changes something is not sent again: it may still be carried out.
				within, attempts := "15s", 3
				if name == "Apply" {
					within, attempts = "1m0s", 1
				}
				if err == nil || !strings.Contains(err.Error(), "was not answered within "+within) || errors.Is(err, providers.ErrRejected) {
					t.Errorf("the error is %v", err)
				}
				if len(client.calls) < attempts || name == "Apply" && len(client.calls) > 1 {
					t.Errorf("the SDK made %d attempts", len(client.calls))
				}
			})
		})
	}
}

// Attempts are many where AWS_MAX_ATTEMPTS says so. The call ends all the same.
func TestACallWithManyAttemptsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := albsim.New(albsim.Options{}).Config()
		config.RetryMaxAttempts = 50
		config.HTTPClient = &silentClient{HTTPClient: config.HTTPClient, silent: all}
		p := aws.New(aws.Options{Config: config, Installation: "test", VPC: albsim.VPC})
		began := time.Now()
		_, err := p.List(context.Background())
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it took %s", took)
		}
		if err == nil || !strings.Contains(err.Error(), "was not answered within 1m0s") {
			t.Errorf("the error is %v", err)
		}
	})
}

// A call that waits for its turn is not late.
func TestTheWaitForATurnIsNotPartOfTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := aws.New(aws.Options{
			Config: albsim.New(albsim.Options{}).Config(), Installation: "test", VPC: albsim.VPC,
			Rates: providers.Rates{"other": {PerSecond: 0.01, Burst: 1}, "read": {PerSecond: 0.01, Burst: 1}},
		})
		for range 3 {
			if _, err := p.List(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A process that was paused in the middle of a step may have lost its lease. It sends no further
// change.
func TestALeaseIsAskedForBeforeEachCallThatChangesSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var may error
		lost := errors.New("the lease is lost")
		config := albsim.New(albsim.Options{Fault: func(c albsim.Call) albsim.Fault {
			if c.Action != "CreateTargetGroup" {
				return albsim.NoFault
			}
			may = lost
			return albsim.Unavailable // the SDK would try again
		}}).Config()
		sender := &silentClient{HTTPClient: config.HTTPClient, silent: func(string) bool { return false }}
		config.HTTPClient = sender
		p := aws.New(aws.Options{Config: config, Installation: "test", VPC: albsim.VPC, Rates: client.PublishedRates()})
		revocable := providers.NewRevocable(p, func() error { return may })
		_, err := revocable.Apply(context.Background(), &lb.Observed{Key: key}, plan.CreateTargetGroup{Group: lb.TargetGroup{ID: "shop/web:80", TargetType: "ip", Protocol: "HTTP", Version: "HTTP1", Family: "ipv4"}})
		if !errors.Is(err, lost) {
			t.Errorf("the error is %v", err)
		}
		if creates := slices.DeleteFunc(sender.calls, func(a string) bool { return a != "CreateTargetGroup" }); len(creates) != 1 {
			t.Errorf("%v was sent", creates)
		}
	})
}

// The deadline holds with the SDK's own client and a connection that is accepted and says nothing.
func TestASilentConnectionEnds(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	config := albsim.New(albsim.Options{}).Config()
	config.BaseEndpoint = sdk.String("http://" + silent.Addr().String())
	config.HTTPClient = nil
	p := aws.New(aws.Options{Config: config, Installation: "test", VPC: albsim.VPC, Deadlines: client.Deadlines{Attempt: 50 * time.Millisecond, Call: 200 * time.Millisecond}})
	ended := make(chan error, 1)
	go func() {
		_, err := p.List(context.Background())
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "was not answered within") {
			t.Errorf("the error is %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}
