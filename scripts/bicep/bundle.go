package bicepcheck

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// mainPath is the file that is deployed.
const mainPath = "main.bicep"

// Bundle is all files of a folder of templates.
type Bundle struct {
	Files map[string]*File
	// order is the paths, sorted: problems come in the same order every time.
	order []string
}

// Load reads every template and parameter file of a folder. Problems are of
// their syntax.
func Load(folder fs.FS) (*Bundle, []Problem, error) {
	b := &Bundle{Files: map[string]*File{}}
	var problems []Problem
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".bicep") && !strings.HasSuffix(name, ".bicepparam") {
			return err
		}
		src, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		f, wrong := Parse(name, src)
		b.Files[name], problems = f, append(problems, wrong...)
		b.order = append(b.order, name)
		return nil
	})
	if err == nil && b.Files[mainPath] == nil {
		err = fmt.Errorf("there is no %s", mainPath)
	}
	return b, problems, err
}

// Templates are the files that are not parameter files.
func (b *Bundle) Templates() []*File {
	var list []*File
	for _, name := range b.order {
		if strings.HasSuffix(name, ".bicep") {
			list = append(list, b.Files[name])
		}
	}
	return list
}

// Parameters are the parameter files.
func (b *Bundle) Parameters() []*File {
	var list []*File
	for _, name := range b.order {
		if strings.HasSuffix(name, ".bicepparam") {
			list = append(list, b.Files[name])
		}
	}
	return list
}

// Main is the template that is deployed.
func (b *Bundle) Main() *File { return b.Files[mainPath] }

// Rule is something that must hold.
type Rule struct {
	Name string
	Find func(*Bundle) []Problem
}

// Rules lists all of them but the syntax, which Load sees to.
func Rules() []Rule {
	return slices.Concat(nameRules(), moduleRules(), jobRules(), roleRules(), platformRules(), settingRules(), alertRules())
}

// Check returns the rules that are broken.
func Check(b *Bundle) []Problem {
	var problems []Problem
	for _, rule := range Rules() {
		for _, p := range rule.Find(b) {
			p.Rule = rule.Name
			problems = append(problems, p)
		}
	}
	return problems
}

// finding gathers the problems of a rule.
type finding []Problem

func (f *finding) add(file *File, line int, format string, args ...any) {
	*f = append(*f, Problem{Path: file.Path, Line: line, Text: fmt.Sprintf(format, args...)})
}
