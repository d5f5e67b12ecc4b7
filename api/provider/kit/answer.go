package kit

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	v1 "fairlead.dev/fairlead/api/provider/v1"
)

// This file writes answers. It compresses them if the client accepts that, and sends no body if the
// client's entity tag is current.

// An answer is the response to a request; the zero value is none.
type answer struct {
	status     int
	body       []byte
	problem    *v1.Problem
	tag        string // its entity tag; "" for none
	retryAfter int    // seconds; 0: not sent
	allow      string // the methods of a path
	takesGzip  bool   // adds Accept-Encoding: requests may be compressed
}

// compressFrom is the length from which an answer is compressed.
const compressFrom = 1 << 10

// messageAnswer returns an answer with a message, and status 200.
func messageAnswer(message any) answer {
	body, err := json.Marshal(message)
	if err != nil {
		return problemAnswer(v1.NewProblem(v1.ProblemOther, fmt.Sprintf("writing the answer: %v", err)))
	}
	if len(body) > v1.MaxAnswer {
		return problemAnswer(v1.NewProblem(v1.ProblemOther, fmt.Sprintf("the answer has %d bytes, and "+
			"an "+
			"operator takes %d at most", len(body), v1.MaxAnswer)))
	}
	return answer{status: http.StatusOK, body: body}
}

// tagOf returns a strong entity tag.
func tagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// problemAnswer returns an answer with the reason why a call failed.
func problemAnswer(p *v1.Problem) answer {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // a problem has texts and numbers only
	}
	return answer{status: p.Status, body: body, problem: p, retryAfter: p.RetryAfterSeconds}
}

// errorAnswer returns an answer with the error of a provider.
func errorAnswer(err error) answer { return problemAnswer(problemOf(err)) }

// messageOr returns an answer with a message, or with an error if there is one.
func messageOr(message any, err error) answer {
	if err != nil {
		return errorAnswer(err)
	}
	return messageAnswer(message)
}

// write writes an answer. It ignores errors of the connection, which the client gets, too.
func write(w http.ResponseWriter, r *http.Request, a answer) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	for name, value := range map[string]string{"ETag": a.tag, "Allow": a.allow} {
		if value != "" {
			h.Set(name, value)
		}
	}
	if a.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(a.retryAfter))
	}
	if a.takesGzip {
		h.Set("Accept-Encoding", "gzip")
	}
	if a.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if a.tag != "" && matchesETag(r.Header.Values("If-None-Match"), a.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if len(a.body) == 0 {
		w.WriteHeader(a.status)
		return
	}
	h.Set("Content-Type", v1.MediaType)
	if a.problem != nil {
		h.Set("Content-Type", v1.ProblemMediaType)
	}
	h.Set("Vary", "Accept-Encoding")
	if len(a.body) >= compressFrom && takesGzip(r.Header.Values("Accept-Encoding")) {
		a.body = compressed(a.body)
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

func compressed(body []byte) []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, _ = zip.Write(body) // a bytes.Buffer takes everything
	_ = zip.Close()
	return out.Bytes()
}

// matchesETag reports whether a header If-None-Match has an entity tag.
func matchesETag(headers []string, tag string) bool {
	for part := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		if part = strings.TrimSpace(part); part == "*" || strings.TrimPrefix(part, "W/") == tag {
			return true
		}
	}
	return false
}

// takesGzip reports whether a header Accept-Encoding has gzip.
func takesGzip(headers []string) bool {
	for part := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		name, quality, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			_, q, given := strings.Cut(quality, "=")
			return !given || strings.Trim(strings.TrimSpace(q), "0.") != ""
		}
	}
	return false
}
