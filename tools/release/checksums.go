package main

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// This file writes checksums as `sha256sum --check` reads them.

func checksums(files []file) file {
	var lines strings.Builder
	for _, f := range files {
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(f.data), f.name)
	}
	return file{name: "SHA256SUMS", data: []byte(lines.String())}
}
