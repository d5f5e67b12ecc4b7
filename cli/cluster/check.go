package cluster

import (
	"context"
	"fmt"

	"fairlead.dev/fairlead/model/check"
)

// This file checks a cluster: each part, and the version of its API server.

// Check checks all parts. If the API server does not answer, it returns that alone.
func Check(ctx context.Context, c Cluster, o Options) []check.Finding {
	version := checkVersion(ctx, c, o)
	out := []check.Finding{version}
	if version.ID == Silent {
		return out // the rest would say the same
	}
	out = append(out, checkKinds(ctx, c)...)
	out = append(out, checkRights(ctx, c, o)...)
	out = append(out, checkClasses(ctx, c)...)
	out = append(out, checkWebhooks(ctx, c)...)
	return append(out, checkOthers(ctx, c, o)...)
}

// Silent is the ID of the finding for an API server that does not answer.
const Silent = "cluster/silent"

func checkVersion(ctx context.Context, c Cluster, o Options) check.Finding {
	const id, title = "cluster/version", "API server"
	version, err := c.Version(ctx)
	if err != nil {
		return check.Bad(Silent, title, err.Error(),
			"see to --kubeconfig and the network, or leave the cluster out with --kubeconfig none")
	}
	var major, minor int
	supported := fmt.Sprintf("1.%d to 1.%d are supported", o.Oldest, o.Newest)
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return check.Unsure(id, title, fmt.Sprintf("its version is %q; %s", version, supported), "")
	}
	switch {
	case major == 1 && minor < o.Oldest:
		return check.Bad(id, title, fmt.Sprintf("it is of version %s; %s", version, supported),
			"upgrade the cluster, or use a release of Fairlead that was made for it")
	case major != 1 || minor > o.Newest:
		return check.Unsure(id, title, fmt.Sprintf("it is of version %s; %s", version, supported),
			"see whether a newer release of Fairlead was made for it")
	}
	return check.Good(id, title, fmt.Sprintf("it is of version %s; %s", version, supported))
}
