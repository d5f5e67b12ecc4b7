package lb

// An Other is a load balancer that others made, as the cloud has it. Its target groups have their names in the cloud as
// IDs, and Read has all of its settings.
type Other struct {
	Observed
	Name string
	// Tags has the tags of the load balancer, of its listeners, rules, target groups and security groups, by handle.
	Tags map[string]map[string]string
	// Names has the names of its security groups, by handle.
	Names map[string]string
	// NotRead says why the rest was not read, such as that the load balancer is in another network; "" if it was.
	NotRead string
	// Usual has the settings that the cloud would give to the same load balancer if nothing asked for any.
	Usual ReadSettings
	// Oddities have no place in the other fields.
	Oddities []Oddity
	// Behind has parts of a load balancer that was taken over whose tags were read before Fairlead's were visible.
	Behind []string
}

// An Oddity is a property of a part of a load balancer that Fairlead neither makes nor understands.
type Oddity struct {
	Handle string // of the part
	What   string // such as "TargetControlPort 3000"
}

// OfPart returns what is odd about a part.
func (o *Other) OfPart(handle string) (out []string) {
	for _, odd := range o.Oddities {
		if odd.Handle == handle {
			out = append(out, odd.What)
		}
	}
	return out
}
