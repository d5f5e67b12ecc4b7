package listeners

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers"
	"fairlead.dev/fairlead/providers/aws/certificates"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file attaches certificates to listeners. AWS chooses the certificate for the name that a client sends (SNI) from the
// list of a listener. "The default certificate is used only if a client connects without using the Server Name Indication
// (SNI) protocol to specify a hostname or if there are no matching certificates in the certificate list"
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/https-listener-certificates.html). So the default
// certificate is in the list as well if the list has others. They may have its names, and fit fewer clients
// (https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4090).

// AttachCertificate adds a certificate to a listener, which serves it for its names.
func (ls *Store) AttachCertificate(
	ctx context.Context, seen *lb.Observed, port int32, id lb.CertificateID,
) error {
	l := seen.Listener(port)
	if l == nil {
		return fmt.Errorf("listener %d does not exist", port)
	}
	if len(l.Certificates) == 1 {
		if err := ls.listDefaultOnce(ctx, seen, l.Handle, append(slices.Clone(l.Certificates), id)); err != nil {
			return err
		}
	}
	return ls.addCertificate(ctx, seen, l.Handle, id)
}

// A listing is the default certificate of a listener on its way into the list.
type listing struct {
	sync.Mutex
	done bool
}

// listDefaultOnce lists the default certificate once for all steps of a plan that attach others, as each of them sees a
// listener with one certificate. If the default certificate is removed from the list outside of Fairlead, the next plan
// changes the listener, and lists it again.
func (ls *Store) listDefaultOnce(
	ctx context.Context, seen *lb.Observed, listener string, all []lb.CertificateID,
) error {
	found, _ := ls.listings.LoadOrStore(listener+" "+string(all[0]), &listing{})
	l := found.(*listing)
	l.Lock()
	defer l.Unlock()
	if l.done {
		return nil
	}
	err := ls.listDefault(ctx, seen, listener, all)
	l.done = err == nil
	return err
}

// listDefault adds the default certificate, the first of those of a listener, to the list if there are others. The quota
// is for certificates "not counting default certificates"
// (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html). If AWS counts it all
// the same, and the list is full, it stays outside.
func (ls *Store) listDefault(
	ctx context.Context, seen *lb.Observed, listener string, all []lb.CertificateID,
) error {
	if len(all) < 2 {
		return nil
	}
	err := ls.addCertificate(ctx, seen, listener, all[0])
	if errors.Is(err, providers.ErrNoRoom) {
		ls.full.Store(listener, true)
		return nil
	}
	return err
}

func (ls *Store) addCertificate(
	ctx context.Context, seen *lb.Observed, listener string, id lb.CertificateID,
) error {
	arn, err := certificates.ARN(seen, id)
	if err != nil {
		return err
	}
	_, err = ls.ELB.AddListenerCertificates(ctx, &elbapi.AddListenerCertificatesInput{
		ListenerArn:  aws.String(listener),
		Certificates: []elb.Certificate{{CertificateArn: aws.String(arn)}},
	})
	return client.Explain("attaching certificate "+string(id), err)
}

// DetachCertificate removes a certificate from a listener.
func (ls *Store) DetachCertificate(
	ctx context.Context, seen *lb.Observed, port int32, id lb.CertificateID,
) error {
	l := seen.Listener(port)
	if l == nil {
		return nil
	}
	arn, err := certificates.ARN(seen, id)
	if err != nil {
		return err
	}
	_, err = ls.ELB.RemoveListenerCertificates(ctx, &elbapi.RemoveListenerCertificatesInput{
		ListenerArn:  aws.String(l.Handle),
		Certificates: []elb.Certificate{{CertificateArn: aws.String(arn)}},
	})
	ls.full.Delete(l.Handle)
	ls.listings.Delete(l.Handle + " " + string(id))
	if client.HasCode(err, "CertificateNotFound") {
		return nil
	}
	return client.Explain("detaching certificate "+string(id), err)
}
