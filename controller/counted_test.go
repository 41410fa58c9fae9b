package controller

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"testing"
)

// TestEveryWriteIsCounted: a request that writes and that countedAPI or countedRevisions
// only passes on would be missing in the metrics.
func TestEveryWriteIsCounted(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "counted.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	counted := map[string]bool{}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			counted[f.Recv.List[0].Type.(*ast.Ident).Name+"."+f.Name.Name] = true
		}
	}
	reads := regexp.MustCompile(`^(Get|List|Labelled)`)
	for by, requests := range map[string]reflect.Type{
		"countedAPI": reflect.TypeFor[API](), "countedRevisions": reflect.TypeFor[RevisionStore](),
	} {
		for i := range requests.NumMethod() {
			if name := requests.Method(i).Name; !reads.MatchString(name) && !counted[by+"."+name] {
				t.Errorf("%s is not counted by %s", name, by)
			}
		}
	}
}
