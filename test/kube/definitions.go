package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"fairlead.dev/fairlead/test/binary"
)

// This file teaches the API server our own kinds, as an installation does.

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// installDefinitions returns when the kinds are served.
func (c *Cluster) installDefinitions(ctx context.Context) error {
	found, err := readDefinitions()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	kinds := client.Resource(definitions)
	for _, d := range found {
		if _, err := kinds.Create(ctx, d, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("installing %s: %w", d.GetName(), err)
		}
	}
	for _, d := range found {
		if err := c.await(ctx, func(ctx context.Context) error {
			stored, err := kinds.Get(ctx, d.GetName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			return established(stored)
		}); err != nil {
			return fmt.Errorf("waiting for %s to be served: %w", d.GetName(), err)
		}
	}
	return nil
}

func established(definition *unstructured.Unstructured) error {
	conditions, _, err := unstructured.NestedSlice(definition.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
			return nil
		}
	}
	return errors.New("it is not established")
}

// readDefinitions are the CRDs of config/crd; what else is in there belongs to kustomize.
func readDefinitions() ([]*unstructured.Unstructured, error) {
	root, err := binary.Root()
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	err = filepath.WalkDir(filepath.Join(root, "config", "crd"), func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".yaml") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
		for {
			object := &unstructured.Unstructured{}
			if err := documents.Decode(object); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("reading %s: %w", file, err)
			}
			if object.GetKind() == "CustomResourceDefinition" {
				found = append(found, object)
			}
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return found, err
}
