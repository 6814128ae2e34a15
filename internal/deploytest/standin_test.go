package deploytest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// standins are the programs that the test binary is when it is called by their
// names.
var standins = []string{"az", "docker", "make", "go"}

// home is the variable that names the folder with the table and the record.
const home = "RSMS_STANDIN"

// An answer is what a stand-in says to a call. The first one that fits is given.
type answer struct {
	To     string   // the first words of the call: "az deployment group create"
	With   string   // this is one of its arguments
	Begins string   // one of its arguments begins with this
	After  string   // a call with this argument was made before
	Times  int      // as often; 0 = always
	Out    string   // may hold {{probe}}, {{commit}} and {{image}}, of the calls so far
	Err    string   // standard error
	Exit   int      //
	Writes []string // files, below the argument of -C
}

// A call is how a stand-in was called.
type call struct {
	Args   []string          // with the name of the program
	Answer int               // which one; -1 = it has none
	Files  map[string]string // what a file or folder held that an argument names
	Modes  map[string]fs.FileMode
}

func (c call) String() string { return strings.Join(c.Args, " ") }

// value is the argument after a flag, "" without.
func (c call) value(flag string) string {
	if i := slices.Index(c.Args, flag); i >= 0 && i+1 < len(c.Args) {
		return c.Args[i+1]
	}
	return ""
}

func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); slices.Contains(standins, name) {
		os.Exit(standIn(name, os.Args[1:], os.Getenv(home)))
	}
	os.Exit(m.Run())
}

func standIn(name string, args []string, dir string) int {
	answers, calls, err := load(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stand-in:", err)
		return 99
	}
	c := call{Args: append([]string{name}, args...), Files: map[string]string{}, Modes: map[string]fs.FileMode{}}
	for _, flag := range []string{"--yaml", "--file"} {
		c.keep(c.value(flag))
	}
	if len(args) > 1 && args[0] == "acr" && args[1] == "build" {
		c.keep(args[len(args)-2])
	}
	c.Answer = slices.IndexFunc(answers, func(a answer) bool { return a.fits(c, calls, answers) })
	if err := record(dir, c); err != nil {
		fmt.Fprintln(os.Stderr, "stand-in:", err)
		return 99
	}
	if c.Answer < 0 {
		fmt.Fprintln(os.Stderr, "stand-in: nothing is known of this call:", c)
		return 99
	}
	a := answers[c.Answer]
	for _, file := range a.Writes {
		file = filepath.Join(c.value("-C"), file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
			os.WriteFile(file, []byte("x"), 0o755)
		}
	}
	fmt.Fprint(os.Stdout, fill(a.Out, append(calls, c)))
	fmt.Fprint(os.Stderr, a.Err)
	return a.Exit
}

// fits reports whether the answer is one to this call after those.
func (a answer) fits(c call, calls []call, answers []answer) bool {
	if !strings.HasPrefix(c.String()+" ", a.To+" ") || a.With != "" && !slices.Contains(c.Args, a.With) {
		return false
	}
	if !slices.ContainsFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, a.Begins) }) {
		return false
	}
	given, after := 0, a.After == ""
	for _, before := range calls {
		if before.Answer >= 0 && equal(answers[before.Answer], a) {
			given++
		}
		after = after || slices.Contains(before.Args, a.After)
	}
	return after && (a.Times == 0 || given < a.Times)
}

func equal(a, b answer) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// keep notes what a file holds, or the files of a folder.
func (c *call) keep(path string) {
	filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil {
			c.Modes[name] = info.Mode()
		}
		if rel, err := filepath.Rel(path, name); err == nil && rel != "." {
			name = rel
		}
		c.Files[name] = string(data)
		return nil
	})
}

// fill puts what the calls so far said into an answer.
func fill(text string, calls []call) string {
	known := map[string]string{}
	for _, c := range calls {
		for _, arg := range c.Args {
			for _, name := range []string{"commit", "image"} {
				if v, ok := strings.CutPrefix(arg, name+"="); ok && strings.HasPrefix(c.String(), "az deployment group create") {
					known[name] = v
				}
			}
		}
		if !strings.HasPrefix(c.String(), "az storage message put") {
			continue
		}
		var probe struct {
			JobID string `json:"job_id"`
		}
		if data, err := base64.StdEncoding.DecodeString(c.value("--content")); err == nil && json.Unmarshal(data, &probe) == nil {
			known["probe"] = probe.JobID
		}
	}
	for name, v := range known {
		text = strings.ReplaceAll(text, "{{"+name+"}}", v)
	}
	return text
}

func load(dir string) (answers []answer, calls []call, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "answers"))
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(data, &answers); err != nil {
		return nil, nil, err
	}
	calls, err = recorded(dir)
	return answers, calls, err
}

func recorded(dir string) ([]call, error) {
	data, err := os.ReadFile(filepath.Join(dir, "calls"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var calls []call
	for l := range strings.Lines(string(data)) {
		var c call
		if err := json.Unmarshal([]byte(l), &c); err != nil {
			return nil, err
		}
		calls = append(calls, c)
	}
	return calls, nil
}

func record(dir string, c call) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(data, '\n'))
	return err
}
