package awscalls

import (
	"os"
	"strings"
	"testing"
)

// This file sets the environment of a process that calls AWS.

// Environment has the SDK of this process call a server, by the settings that it reads from the
// environment. No other setting of the machine counts, and no instance is around the process.
func Environment(t *testing.T, server string) {
	t.Helper()
	for _, setting := range os.Environ() {
		if name, _, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server, "AWS_EC2_METADATA_SERVICE_ENDPOINT": server,
		"AWS_ACCESS_KEY_ID": "AKIDOFATEST", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_MAX_ATTEMPTS": "1",
		"AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none",
	} {
		t.Setenv(name, value)
	}
}
