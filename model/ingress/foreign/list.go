package foreign

// This file lists the table for its reference page.

// A Controller is one entry of the table.
type Controller struct {
	Name       string
	Prefixes   []string
	Sources    []string
	OnServices string // the names that are looked at on Services, too; "" for none
	Rows       []Row
}

// A Row is one annotation of a controller.
type Row struct {
	Name    string
	Effect  Effect
	When    string // in which case it has the effect; "" for always
	Instead string
	Example string
}

// Controllers is the table.
func Controllers() []Controller {
	var out []Controller
	for _, c := range controllers {
		entry := Controller{Name: c.name, Prefixes: c.prefixes, Sources: c.sources, OnServices: c.onServices}
		for _, r := range c.rows {
			row := Row{Name: r.name, Effect: r.effect, Instead: r.instead.String(), Example: r.instead.example}
			switch {
			case r.judge != nil:
				row.When = r.judge.says
			case r.effect == Restricts:
				row.When = "unless it is empty"
			}
			entry.Rows = append(entry.Rows, row)
		}
		out = append(out, entry)
	}
	return out
}
