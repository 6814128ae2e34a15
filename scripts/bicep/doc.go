// Package bicepcheck checks the templates of bicep/ without Azure and without
// the Bicep compiler: their syntax, their names, and the rules that the cases
// from the field have taught. Invariant: a template that breaks a rule is named
// with its line.
package bicepcheck
