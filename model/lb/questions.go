package lb

// Questions are what compiling needs to know about the cloud, and Facts the answers. They are
// asked once, before compiling, so that compiling itself makes no calls.
type Questions struct {
	// CertificateHosts are host names (wildcards too) for which no Secret is named.
	CertificateHosts []string
	Subnets          []string
}

// Facts answer Questions.
type Facts struct {
	// Certificates maps a host name to the certificates that the cloud holds for it, the best
	// first.
	Certificates map[string][]CertificateID
	Subnets      []string
}
