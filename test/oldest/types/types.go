// Package types imports what needs nothing of Kubernetes but its types: the compiler, our own kinds
// and the clouds. The rest needs a client library, which goes with one version of the types;
// whether it gets on with the oldest API server is for `make compat` to say.
package types

import (
	_ "fairlead.dev/fairlead/api/v1alpha1"
	_ "fairlead.dev/fairlead/model"
	_ "fairlead.dev/fairlead/model/plan"
	_ "fairlead.dev/fairlead/providers/aws"
	_ "fairlead.dev/fairlead/providers/fake"
)
