// This module pins the Prometheus operator, for the schemas of its kinds, and compiles nothing of it.
module fairlead.dev/fairlead/test/config/monitoring

go 1.26.0

require github.com/prometheus-operator/prometheus-operator v0.94.1
