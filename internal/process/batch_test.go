package process

import (
	"errors"
	"strings"
	"testing"
)

// cmd.exe reads what a batch file gets, and must not find anything to execute.
func TestUnfitForBatch(t *testing.T) {
	const bat = `C:\exe\DAFLOW.BAT`
	for _, test := range []struct {
		path, arg string
		says      string // "" for a command that is fit
	}{
		{bat, "FLOW.IN", ""},
		{bat, "two words", ""},
		{bat, `C:\data\x-1_a.b~c@d`, ""},
		{bat, "", ""},
		{`C:\Program Files (x86)\rsms\daflow.cmd`, "1", ""},
		{`C:\exe\DAFLOW.EXE`, "x&echo.injected", ""},
		{`C:\exe.bat\DAFLOW`, "x&echo.injected", ""},
		{bat, "x&echo.injected", "argument 2 has the character '&'"},
		{`C:\exe\daflow.cmd`, "x|more", "'|'"},
		{`C:\exe\DAFLOW.bat. `, "x|more", "'|'"},
		{bat, "%PATH%", "'%'"},
		{bat, "a!b!", "'!'"},
		{bat, "a^b", "'^'"},
		{bat, "<in", "'<'"},
		{bat, ">out", "'>'"},
		{bat, `say "x"`, `'"'`},
		{bat, "a(b)", "'('"},
		{bat, "a,b", "','"},
		{bat, "a;b", "';'"},
		{bat, "a=b", "'='"},
		{bat, "a\nb", `'\n'`},
		{bat, "a\tb", `'\t'`},
		{bat, `two words\`, "ends in"},
		{bat, `one-word\`, ""},
		{`C:\a&b\DAFLOW.BAT`, "1", "its path has the character '&'"},
		{`C:\%a%\DAFLOW.BAT`, "1", "'%'"},
	} {
		err := unfitForBatch(test.path, []string{"first", test.arg})
		if test.says == "" {
			if err != nil {
				t.Errorf("%s %q: %v", test.path, test.arg, err)
			}
			continue
		}
		start, ok := errors.AsType[*StartError](err)
		if !ok || start.Kind != ErrBatch || start.Path != test.path || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s %q: got %v, want it to say %s", test.path, test.arg, err, test.says)
		}
	}
}
