package v1alpha1

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
)

// This file compresses the last accepted versions of members where a status would be too large
// otherwise. They are in parts, so that a member that changes has one part written, and they are
// most of a large record: Ingresses of one load balancer resemble each other.

const (
	// versionParts is how many parts there are. A part of a thousand members is as large as the
	// window of gzip, so that more members to a part would compress no better.
	versionParts = 64
	// maxPart is how many bytes of JSON a part may have. All parts of a status are compressed to
	// less than MaxSize, and gzip compresses to a thousandth at best.
	maxPart = 64 << 20
)

// Stored returns the memory as it is written: where versions are compressed, members are without
// theirs.
func (m Memory) Stored() Memory {
	if len(m.Versions) == 0 {
		return m
	}
	m.Members = slices.Clone(m.Members)
	for i := range m.Members {
		m.Members[i].LastAccepted = nil
	}
	return m
}

// Expand gives each member its last accepted version, once a memory was read. One that is forgotten
// stays so: an earlier release, which does not know parts, may have written the members since. What
// cannot be read is forgotten, and is an error.
func (m *Memory) Expand() error {
	if len(m.Versions) == 0 {
		return nil
	}
	parts, failed := map[string]map[string]*AcceptedVersion{}, error(nil)
	for name, text := range m.Versions {
		versions, err := readPart(text)
		if err != nil {
			err = fmt.Errorf("reading part %s of the last accepted versions: %w", name, err)
			failed = errors.Join(failed, err)
		}
		parts[name] = versions
	}
	for i := range m.Members {
		of := &m.Members[i]
		if of.LastAccepted != nil || of.Forgotten {
			continue
		}
		part := partOf(of.Ingress)
		of.LastAccepted = parts[part][of.Ingress]
		of.Forgotten = of.LastAccepted == nil && m.Versions[part] != nil && parts[part] == nil
	}
	return failed
}

// compress makes the parts of the versions that members have; none where they have none.
func (m *Memory) compress() error {
	parts := map[string]map[string]*AcceptedVersion{}
	for i := range m.Members {
		if of := &m.Members[i]; of.LastAccepted != nil {
			part := partOf(of.Ingress)
			if parts[part] == nil {
				parts[part] = map[string]*AcceptedVersion{}
			}
			parts[part][of.Ingress] = of.LastAccepted
		}
	}
	if len(parts) == 0 {
		return nil
	}
	m.Versions = make(map[string][]byte, len(parts))
	for name, versions := range parts {
		text, err := writePart(versions)
		if err != nil {
			return err
		}
		m.Versions[name] = text
	}
	return nil
}

// partOf returns the name of the part that has the version of an Ingress.
func partOf(ingress string) string {
	digest := fnv.New32a()
	digest.Write([]byte(ingress))
	return fmt.Sprintf("%02x", digest.Sum32()%versionParts)
}

// writePart compresses versions. Equal versions give equal bytes: JSON has the keys of a map
// sorted, and gzip has no time unless it is given one.
func writePart(versions map[string]*AcceptedVersion) ([]byte, error) {
	plain, err := json.Marshal(versions)
	if err != nil {
		return nil, fmt.Errorf("writing last accepted versions: %w", err)
	}
	var out bytes.Buffer
	to := gzip.NewWriter(&out)
	if _, err = to.Write(plain); err == nil {
		err = to.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("compressing last accepted versions: %w", err)
	}
	return out.Bytes(), nil
}

func readPart(text []byte) (map[string]*AcceptedVersion, error) {
	from, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(from, maxPart+1))
	if err != nil {
		return nil, err
	}
	if len(plain) > maxPart {
		return nil, fmt.Errorf("it has more than %d bytes", maxPart)
	}
	var out map[string]*AcceptedVersion
	if err := json.Unmarshal(plain, &out); err != nil {
		return nil, err
	}
	return out, nil
}
