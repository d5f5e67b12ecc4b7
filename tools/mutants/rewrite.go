package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// This file makes mutants of a file. All of them are in one text, which is compiled once: each
// stands behind a question that is answered when the tests run. No edit adds a line, so that errors
// of the compiler name lines of the original.

// A mutant is one change of the code.
type mutant struct {
	file, function string
	line           int
	change         string // what is changed, and how
}

// String names a mutant by what does not change with the lines above it.
func (m mutant) String() string { return m.file + " " + m.function + ": " + m.change }

// An edit inserts text before an offset, and removes some of what follows.
type edit struct {
	at, removes int
	text        string
	order       int // among those at one offset
}

// A rewriter makes mutants of one file.
type rewriter struct {
	file     string
	text     []byte
	files    *token.FileSet
	function string
	refused  map[int]bool // lines of which no mutant compiles
	first    int          // the number of the next mutant
	mutants  []mutant
	edits    []edit
}

// rewrite returns a file with all its mutants, which are numbered from first on. The lines that are
// refused have none.
func rewrite(name string, text []byte, first int, refused map[int]bool) ([]byte, []mutant, error) {
	r := &rewriter{file: name, text: text, files: token.NewFileSet(), refused: refused, first: first}
	file, err := parser.ParseFile(r.files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			r.function = nameOf(f)
			ast.Walk(visitor{r, ""}, f.Body)
		}
	}
	return r.apply(), r.mutants, nil
}

// nameOf is a function's name, behind its receiver's.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
			continue
		case *ast.IndexExpr:
			t = of.X
			continue
		case *ast.Ident:
			return of.Name + "." + f.Name.Name
		}
		return f.Name.Name
	}
}

// apply makes the edits. Of those at one offset, what ends comes before what begins, and the inner
// end before the outer one.
func (r *rewriter) apply() []byte {
	slices.SortStableFunc(r.edits, func(a, b edit) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order)) })
	var out []byte
	at := 0
	for _, e := range r.edits {
		out = append(out, r.text[at:e.at]...)
		out = append(out, e.text...)
		at = e.at + e.removes
	}
	return append(out, r.text[at:]...)
}

// add adds a mutant, and returns its number. Where the line is refused there is none.
func (r *rewriter) add(at token.Pos, change string) (int, bool) {
	line := r.files.Position(at).Line
	if r.refused[line] {
		return 0, false
	}
	r.mutants = append(r.mutants, mutant{r.file, r.function, line, change})
	return r.first + len(r.mutants) - 1, true
}

// around puts texts before and behind a node. A node's edits are made before those of what is in
// it.
func (r *rewriter) around(n ast.Node, before, behind string) {
	from, to := r.offset(n.Pos()), r.offset(n.End())
	r.edits = append(r.edits, edit{at: from, text: before, order: 1<<20 + from - to}, edit{at: to, text: behind, order: -len(r.edits) - 1})
}

func (r *rewriter) offset(p token.Pos) int { return r.files.Position(p).Offset }

// says is the text of a node on one line.
func (r *rewriter) says(n ast.Node) string {
	const most = 80
	text := strings.Join(strings.Fields(string(r.text[r.offset(n.Pos()):r.offset(n.End())])), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return "`" + strings.ReplaceAll(text, "`", "'") + "`"
}

// A visitor knows whether the expression that it comes to is mutated by the node above it.
type visitor struct {
	*rewriter
	above string
}

// What a node may be for the one above it.
const (
	negated = "negated" // the node above has a mutant that negates it, or takes it away
	limits  = "limits"  // the condition of a loop: negated, it may never end
)

func (v visitor) under(above string) visitor { return visitor{v.rewriter, above} }

// Visit makes the mutants of a node.
func (v visitor) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.GenDecl, *ast.ArrayType, *ast.DeferStmt:
		return nil // constants, and what is to be done in any case
	case *ast.BlockStmt:
		v.drops(n.List)
	case *ast.CommClause:
		v.drops(n.Body)
	case *ast.CaseClause:
		v.drops(n.Body)
	case *ast.IfStmt:
		v.walk(n.Init, "")
		if n.Else == nil && onlyLogs(n.Body) {
			return nil // the condition of a line of the log
		}
		v.negate(n.Cond)
		v.walk(n.Cond, negated)
		v.walk(n.Body, "")
		v.walk(n.Else, "")
		return nil
	case *ast.ForStmt:
		v.walk(n.Init, "")
		v.walk(n.Cond, limits)
		v.walk(n.Post, "")
		v.walk(n.Body, "")
		return nil
	case *ast.SwitchStmt:
		v.walk(n.Init, "")
		v.walk(n.Tag, "")
		for _, s := range n.Body.List {
			clause := s.(*ast.CaseClause)
			v.drops(clause.Body)
			for _, e := range clause.List {
				if n.Tag == nil {
					v.never(e)
					v.walk(e, negated)
				}
			}
			for _, s := range clause.Body {
				v.walk(s, "")
			}
		}
		return nil
	case *ast.ReturnStmt:
		for _, e := range n.Results {
			v.flip(e)
		}
	case *ast.BinaryExpr:
		return v.binary(n)
	case *ast.ParenExpr:
		return v // which is for the one above what it holds
	}
	return v.under("")
}

func (v visitor) walk(n ast.Node, above string) {
	if n != nil {
		ast.Walk(v.under(above), n)
	}
}

// negate negates a condition. Of one that has several parts, each is taken away instead.
func (v visitor) negate(e ast.Expr) {
	if parts(e) {
		return
	}
	if n, ok := v.add(e.Pos(), "negate "+v.says(e)); ok {
		v.around(e, fmt.Sprintf("(mutantIs(%d) != (", n), "))")
	}
}

// never has a case of a switch never hold.
func (v visitor) never(e ast.Expr) {
	if n, ok := v.add(e.Pos(), "never "+v.says(e)); ok {
		v.around(e, fmt.Sprintf("(!mutantIs(%d) && (", n), "))")
	}
}

// flip returns false instead of true, and the other way round.
func (v visitor) flip(e ast.Expr) {
	if i, ok := e.(*ast.Ident); ok && (i.Name == "true" || i.Name == "false") {
		if n, ok := v.add(e.Pos(), "return not "+i.Name); ok {
			v.around(e, fmt.Sprintf("(mutantIs(%d) != ", n), ")")
		}
	}
}

func parts(e ast.Expr) bool {
	if p, ok := e.(*ast.ParenExpr); ok {
		return parts(p.X)
	}
	b, ok := e.(*ast.BinaryExpr)
	return ok && (b.Op == token.LAND || b.Op == token.LOR)
}

// binary makes the mutants of an operator.
func (v visitor) binary(n *ast.BinaryExpr) ast.Visitor {
	switch n.Op {
	case token.LAND, token.LOR:
		question := "(mutantIs(%d) || ("
		if n.Op == token.LOR {
			question = "(!mutantIs(%d) && ("
		}
		for _, side := range []ast.Expr{n.X, n.Y} {
			if b, ok := side.(*ast.BinaryExpr); ok && b.Op == n.Op {
				v.walk(side, negated) // its own sides are taken away
				continue
			}
			if at, ok := v.add(side.Pos(), "take "+v.says(side)+" away from "+v.says(n)); ok {
				v.around(side, fmt.Sprintf(question, at), "))")
			}
			v.walk(side, negated)
		}
		return nil
	case token.EQL, token.NEQ:
		if v.above == "" {
			v.negate(n)
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		if v.above == "" {
			v.negate(n)
		}
		helper := map[token.Token]string{token.LSS: "mutantLess", token.LEQ: "mutantAtMost", token.GTR: "mutantMore", token.GEQ: "mutantAtLeast"}[n.Op]
		v.call(n, helper, "move the limit of ")
	case token.ADD, token.SUB:
		if one(n.Y) && !literal(n.X) {
			v.call(n, map[token.Token]string{token.ADD: "mutantPlus", token.SUB: "mutantMinus"}[n.Op], "leave out the number of ")
		}
	}
	return v.under("")
}

// call has a helper do what an operator does.
func (v visitor) call(n *ast.BinaryExpr, helper, change string) {
	at, ok := v.add(n.OpPos, change+v.says(n))
	if !ok {
		return
	}
	v.around(n, fmt.Sprintf("%s(%d, ", helper, at), ")")
	v.edits = append(v.edits, edit{at: v.offset(n.OpPos), removes: len(n.Op.String()), text: ","})
}

func literal(e ast.Expr) bool {
	_, ok := e.(*ast.BasicLit)
	return ok
}

// one reports whether something is a whole number.
func one(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind == token.INT
}

// drops leaves out statements.
func (v visitor) drops(list []ast.Stmt) {
	for _, s := range list {
		if !droppable(s) {
			continue
		}
		if n, ok := v.add(s.Pos(), "leave out "+v.says(s)); ok {
			v.around(s, fmt.Sprintf("if !mutantIs(%d) { ", n), " }")
		}
	}
}

// droppable reports whether the rest compiles without a statement, and says something else.
func droppable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		return ok && !spared[called(call)] && !logs(call)
	case *ast.AssignStmt:
		blank := !slices.ContainsFunc(s.Lhs, func(e ast.Expr) bool {
			i, ok := e.(*ast.Ident)
			return !ok || i.Name != "_"
		})
		return s.Tok != token.DEFINE && !blank
	case *ast.BranchStmt:
		return s.Tok == token.CONTINUE || s.Tok == token.BREAK
	case *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt:
		return true
	}
	return false
}

// spared are calls that stay: a loss of theirs shows only in a log or as a hang.
var spared = map[string]bool{"panic": true, "Lock": true, "Unlock": true, "RLock": true, "RUnlock": true, "Done": true, "Wait": true}

// logs reports whether a call writes to the log. Whether it does is not worth a test.
func logs(c *ast.CallExpr) bool {
	f, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Info" && f.Sel.Name != "Error" {
		return false
	}
	of, named := f.X.(*ast.Ident)
	return !named || of.Name != "http" // http.Error answers a request
}

// onlyLogs reports whether a block writes to the log, and does nothing else.
func onlyLogs(b *ast.BlockStmt) bool {
	return !slices.ContainsFunc(b.List, func(s ast.Stmt) bool {
		e, ok := s.(*ast.ExprStmt)
		if !ok {
			return true
		}
		call, ok := e.X.(*ast.CallExpr)
		return !ok || !logs(call)
	})
}

// called is the last part of what a call names.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// helpers is a file that a package with mutants has besides. It asks the environment which mutant
// is to live, and notes in a file which of them were asked for.
const helpers = `package %s

import (
	"cmp"
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutantAlive, _ = strconv.Atoi(os.Getenv("MUTANT"))
	mutantsMet, _  = os.OpenFile(os.Getenv("MUTANTS_MET"), os.O_APPEND|os.O_WRONLY, 0)
	mutantsNoted   [1 << 16]atomic.Bool
)

func mutantIs(n int) bool {
	if mutantsMet != nil && !mutantsNoted[n].Swap(true) {
		_, _ = mutantsMet.WriteString(strconv.Itoa(n) + "\n")
	}
	return n == mutantAlive
}

type mutantNumber interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float64
}

func mutantLess[T cmp.Ordered](n int, a, b T) bool    { return a < b || a == b && mutantIs(n) }
func mutantAtMost[T cmp.Ordered](n int, a, b T) bool  { return a < b || a == b && !mutantIs(n) }
func mutantMore[T cmp.Ordered](n int, a, b T) bool    { return a > b || a == b && mutantIs(n) }
func mutantAtLeast[T cmp.Ordered](n int, a, b T) bool { return a > b || a == b && !mutantIs(n) }

func mutantPlus[T mutantNumber](n int, a, b T) T {
	if mutantIs(n) {
		return a
	}
	return a + b
}

func mutantMinus[T mutantNumber](n int, a, b T) T {
	if mutantIs(n) {
		return a
	}
	return a - b
}
`
