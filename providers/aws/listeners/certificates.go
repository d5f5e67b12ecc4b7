package listeners

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbapi "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"fairlead.dev/fairlead/model/lb"
	"fairlead.dev/fairlead/providers/aws/certificates"
	"fairlead.dev/fairlead/providers/aws/client"
)

// This file attaches certificates to listeners.

// AttachCertificate adds a certificate to a listener, which serves it for its names (SNI).
func (ls *Store) AttachCertificate(
	ctx context.Context, seen *lb.Observed, port int32, id lb.CertificateID,
) error {
	l := seen.Listener(port)
	if l == nil {
		return fmt.Errorf("listener %d does not exist", port)
	}
	return ls.addCertificate(ctx, seen, l.Handle, id)
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
	if client.HasCode(err, "CertificateNotFound") {
		return nil
	}
	return client.Explain("detaching certificate "+string(id), err)
}
