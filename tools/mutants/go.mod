// This module is a mutation tester: no other module depends on it, and it depends on none.
module fairlead.dev/fairlead/tools/mutants

go 1.26.0
