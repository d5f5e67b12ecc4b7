// Package nginx answers requests as ingress-nginx would: it runs nginx itself, configured as the last release
// of ingress-nginx (commit dbb11b92ddb7 of kubernetes/ingress-nginx, 2026-03-20) configures it for the same
// Ingresses, Services, Secrets and ConfigMap. `dialect: nginx` is measured by it, so it shares no code with that
// front end. Facts are taken from the sources of ingress-nginx, which each file names; no line of them is copied.
//
// What it answers: which location nginx chooses, which Service and port get the request, with which path, Host
// and headers, and each answer that nginx gives by itself: redirects, preflights, refusals, 404 and 503. Nginx
// decides all of it that is nginx's to decide: server names, locations, decoding of paths, regular expressions,
// rewrites, phases, source ranges, passwords, sub-requests, client certificates.
//
// What is emulated is the Lua of ingress-nginx (front.lua): the redirect to HTTPS, the headers X-Forwarded-*, HSTS,
// the choice of an upstream, and so canaries and affinity. Which of the pods of a Service answers means nothing here.
//
// What it does not answer: rates and connections that are limited, timeouts and retries, mirrors, ModSecurity,
// OpenTelemetry, logs, TCP and UDP, TLS passthrough, HTTP/2 of clients, FastCGI to pods, digest authentication, which
// certificate is shown. A header that a request has twice reaches a variable as one list in nginx 1.27, which ingress-nginx
// has, and with its first value alone in those before 1.23, as Debian's.
//
// Which Ingresses are of its class is the caller's to know.
package nginx
