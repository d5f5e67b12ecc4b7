package main

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// This file holds the CA certificates of the image: Mozilla's, at the version that go.mod pins.
// Certificates of the machine would make the images of two machines differ.

// certificates returns them in PEM, without those that Mozilla trusts under conditions: a PEM file
// has no place for a condition.
func certificates() ([]byte, error) {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
