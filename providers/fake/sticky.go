package fake

import (
	"encoding/base64"
	"net/http"

	"fairlead.dev/fairlead/model/lb"
)

// This file sends a client to the same target group again, if the rule asks for it.

// stickyCookie names the target group of a client.
const stickyCookie = "FAIRLEADTG"

// choose returns the target group for a request: the one in the client's cookie, or the one whose
// turn it is.
func (s *service) choose(w http.ResponseWriter, r *http.Request, rule int, a lb.Action) lb.GroupID {
	if a.StickySeconds == 0 {
		return s.shares.next(rule, a.Targets)
	}
	group, stays := stickyGroup(r, a.Targets)
	if !stays {
		group = s.shares.next(rule, a.Targets)
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // it is Secure wherever the listener is
		Name: stickyCookie, Value: base64.RawURLEncoding.EncodeToString([]byte(group)), Path: "/",
		MaxAge:   int(a.StickySeconds),
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode,
	})
	return group
}

// stickyGroup returns the target group in a request's cookie, if the rule still has it.
func stickyGroup(r *http.Request, targets []lb.Weighted) (lb.GroupID, bool) {
	cookie, err := r.Cookie(stickyCookie)
	if err != nil {
		return "", false
	}
	group, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	for _, t := range targets {
		if err == nil && t.Weight > 0 && t.Group == lb.GroupID(group) {
			return t.Group, true
		}
	}
	return "", false
}
