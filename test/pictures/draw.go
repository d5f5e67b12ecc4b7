// Package pictures draws the pictures of docs/pictures: an SVG from each text. `make generate`
// writes them. Positions and sizes are of the text alone, so the result is the same on every machine.
package pictures

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// A picture has boxes on a grid, and arrows between them. A line of its text is one of these:
//
//	title Words
//	about Words for people who do not see the picture
//	box NAME COLUMN ROW WIDTH Text / second line
//	soft NAME COLUMN ROW WIDTH Text        (a dashed box)
//	note COLUMN ROW Text / second line
//	arrow FROM TO Text / second line
type picture struct {
	title, about  string
	boxes         []box
	notes         []box
	arrows        []arrow
	width, height float64
}

type box struct {
	name, class string
	x, y, w, h  float64
	lines       []string
}

type arrow struct {
	from, to string
	lines    []string
}

// The grid, in pixels: the distance of columns and rows, and the height of a line of text.
const (
	column = 92
	row    = 46
	line   = 16
	margin = 14
)

// parse reads the text of a picture.
func parse(text string) (picture, error) {
	var p picture
	for number, l := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(l), " ")
		var err error
		switch word {
		case "", "#":
		case "title":
			p.title = rest
		case "about":
			p.about = strings.TrimSpace(p.about + " " + rest)
		case "box", "soft":
			name, at, _ := strings.Cut(rest, " ")
			var b box
			if b, err = place(at, 3); err == nil {
				b.name, b.class = name, word
				p.boxes = append(p.boxes, b)
			}
		case "note":
			var b box
			if b, err = place(rest, 2); err == nil {
				p.notes = append(p.notes, b)
			}
		case "arrow":
			ends := strings.SplitN(rest, " ", 3)
			if len(ends) < 2 {
				err = fmt.Errorf("an arrow has two ends")
				break
			}
			a := arrow{from: ends[0], to: ends[1]}
			if len(ends) == 3 {
				a.lines = strings.Split(ends[2], " / ")
			}
			p.arrows = append(p.arrows, a)
		default:
			err = fmt.Errorf("%s is no word of a picture", word)
		}
		if err != nil {
			return p, fmt.Errorf("line %d: %w", number+1, err)
		}
	}
	if p.title == "" || p.about == "" {
		return p, fmt.Errorf("a picture has a title and an about")
	}
	for _, b := range append(p.boxes, p.notes...) {
		p.width, p.height = max(p.width, b.x+b.w+margin), max(p.height, b.y+b.h+margin)
	}
	return p, nil
}

// place reads a position on the grid, a width where there is one, and text.
func place(text string, numbers int) (box, error) {
	words := strings.SplitN(text, " ", numbers+1)
	if len(words) != numbers+1 {
		return box{}, fmt.Errorf("%q has no %d numbers and a text", text, numbers)
	}
	var at [3]float64
	for i := range numbers {
		n, err := strconv.ParseFloat(words[i], 64)
		if err != nil {
			return box{}, err
		}
		at[i] = n
	}
	b := box{x: margin + at[0]*column, y: margin + at[1]*row, w: at[2]*column - 20, lines: strings.Split(words[numbers], " / ")}
	b.h = float64(len(b.lines))*line + 14
	if numbers == 2 {
		for _, l := range b.lines {
			b.w = max(b.w, float64(len(l))*7)
		}
	}
	return b, nil
}

// style has both colour schemes: of the reader's system, as no script tells an image of another.
//
//nolint:misspell // CSS spells it so.
const style = `text{font:13px system-ui,sans-serif;fill:#1f2328}
.box,.soft{fill:#eef2f8;stroke:#57606a}.soft{fill:none;stroke-dasharray:5 4}
.line{stroke:#57606a;fill:none}.head{fill:#57606a}.small{font-size:12px;fill:#57606a}.back{fill:#fff}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.box{fill:#1d2735}.box,.soft{stroke:#8b949e}
.line{stroke:#8b949e}.head{fill:#8b949e}.small{fill:#b1bac4}.back{fill:#0d1117}}`

// Draw returns the SVG of a text.
func Draw(text string) (string, error) {
	p, err := parse(text)
	if err != nil {
		return "", err
	}
	boxes := map[string]box{}
	for _, b := range p.boxes {
		boxes[b.name] = b
	}
	var out strings.Builder
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" role=\"img\" aria-labelledby=\"t d\">\n",
		p.width, p.height, p.width, p.height)
	fmt.Fprintf(&out, "<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n<style>%s</style>\n",
		html.EscapeString(p.title), html.EscapeString(p.about), style)
	fmt.Fprintf(&out, "<rect class=\"back\" width=\"%g\" height=\"%g\"/>\n", p.width, p.height)
	out.WriteString("<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\">" +
		"<path class=\"head\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n")
	for _, b := range p.boxes {
		fmt.Fprintf(&out, "<rect class=\"%s\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"6\"/>\n", b.class, b.x, b.y, b.w, b.h)
		write(&out, b.lines, "", b.x+b.w/2, b.y+b.h/2, "middle")
	}
	for _, a := range p.arrows {
		from, known := boxes[a.from]
		to, known2 := boxes[a.to]
		if !known || !known2 {
			return "", fmt.Errorf("an arrow leads from %s to %s, and one of them is no box", a.from, a.to)
		}
		x1, y1 := from.edge(to)
		x2, y2 := to.edge(from)
		fmt.Fprintf(&out, "<path class=\"line\" marker-end=\"url(#a)\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x1, y1, x2, y2)
		if len(a.lines) > 0 {
			anchor, dx, dy := "middle", 0.0, -4-float64(len(a.lines))*line/2
			if math.Abs(y2-y1) > math.Abs(x2-x1) { // beside an arrow that goes down or up
				anchor, dx, dy = "start", 8, 0
			}
			write(&out, a.lines, "small", (x1+x2)/2+dx, (y1+y2)/2+dy, anchor)
		}
	}
	for _, n := range p.notes {
		write(&out, n.lines, "small", n.x, n.y+n.h/2, "start")
	}
	out.WriteString("</svg>\n")
	return out.String(), nil
}

// write writes lines around a middle.
func write(out *strings.Builder, lines []string, class string, x, y float64, anchor string) {
	for i, l := range lines {
		at := y + (float64(i)-float64(len(lines)-1)/2)*line + 4.5
		fmt.Fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", class, x, at, anchor, html.EscapeString(l))
	}
}

// edge returns where the line from the middle of a box to that of another one leaves it. Boxes one
// below the other, or beside each other, are joined by a straight line.
func (b box) edge(to box) (x, y float64) {
	x, y = b.x+b.w/2, b.y+b.h/2
	tx, ty := to.x+to.w/2, to.y+to.h/2
	if left, right := max(b.x, to.x), min(b.x+b.w, to.x+to.w); right-left > 16 { // straight up or down
		x = (left + right) / 2
		if ty > y {
			return x, b.y + b.h
		}
		return x, b.y
	}
	if top, low := max(b.y, to.y), min(b.y+b.h, to.y+to.h); low-top > 8 { // straight to the side
		y = (top + low) / 2
		if tx > x {
			return b.x + b.w, y
		}
		return b.x, y
	}
	scale := min(b.w/2/math.Abs(tx-x), b.h/2/math.Abs(ty-y))
	return x + (tx-x)*scale, y + (ty-y)*scale
}
