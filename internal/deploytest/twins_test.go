package deploytest

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// script reads one of the scripts, and what it has in common with others.
func script(tb testing.TB, names ...string) string {
	tb.Helper()
	var all strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join("../../scripts", name))
		if err != nil {
			tb.Fatal(err)
		}
		all.Write(data)
	}
	return strings.ReplaceAll(all.String(), "\r\n", "\n")
}

// found is what the first group of a pattern matches, without repetitions.
func found(text, pattern string) []string {
	set := map[string]bool{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		set[m[1]] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// pascal is the name of an option as PowerShell has it: --dry-run is DryRun.
func pascal(option string) string {
	var name strings.Builder
	for word := range strings.SplitSeq(option, "-") {
		if word != "" {
			name.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return name.String()
}

// The PowerShell scripts have the options of the others, and tell of each.
func TestTwinOptions(t *testing.T) {
	for _, name := range []string{"deploy", "start"} {
		var want []string
		for _, option := range found(script(t, "azure.sh", name+".sh"), `(?m)^\t+(?:-\w \| )?(--[a-z-]+)\) `) {
			// Get-Help is the help of PowerShell.
			if option != "--help" {
				want = append(want, pascal(option))
			}
		}
		text := script(t, name+".ps1")
		declared := text[strings.Index(text, "\nparam("):]
		declared = declared[:strings.Index(declared, "\n)")]
		have := found(declared, `(?m)^ +\[(?:string|string\[\]|switch|int)\]\$(\w+)`)
		if !slices.Equal(have, want) {
			t.Errorf("%s.ps1 has %v\n%s.sh has %v", name, have, name, want)
		}
		for _, parameter := range have {
			if !strings.Contains(text, "\n.PARAMETER "+parameter+"\n") {
				t.Errorf("%s.ps1 tells nothing of %s", name, parameter)
			}
		}
		usage := text[:strings.Index(text, "#>")]
		for _, option := range found(script(t, name+".sh"), `(?m)^#  +(?:-\w, )?    (--[a-z-]+)`) {
			if !strings.Contains(usage, "\n.PARAMETER "+pascal(option)+"\n") {
				t.Errorf("%s.ps1 tells nothing of %s", name, option)
			}
		}
	}
}

// code is a script without its comments, and without what differs between the
// shells: quotes, commas and the signs of variables and lists.
func code(tb testing.TB, names ...string) string {
	tb.Helper()
	text := regexp.MustCompile(`(?s)<#.*?#>|(?m:^[ \t]*#[^\n]*$)`).ReplaceAllString(script(tb, names...), "")
	return strings.NewReplacer("'", "", `"`, "", ",", "", "@(", "", "$", "", "\\\n", "").Replace(text)
}

// Both make the same calls, with the same flags and queries.
func TestTwinCalls(t *testing.T) {
	for _, name := range []string{"deploy", "start"} {
		shell, power := code(t, "azure.sh", "parameters.sh", name+".sh"), code(t, "azure.ps1", "parameters.ps1", name+".ps1")
		commands := found(shell, `(?m)(?:\(|^\s*|until |! |\|\| )(?:read_az|change_az|change|az) ([a-z]+(?:[ -][a-z]+)*)`)
		for _, command := range commands {
			command = strings.TrimSuffix(command, " image") // of docker push, a variable
			// Extensions are for logs.sh.
			if command != "extension list" && !strings.Contains(power, command) {
				t.Errorf("%s.ps1 does not call %s", name, command)
			}
		}
		if len(commands) < 6 {
			t.Errorf("only %q were found in %s.sh", commands, name)
		}
		for _, flag := range found(shell[strings.Index(shell, "begin() {"):], `\s(--[a-z][a-z-]+) `) {
			if !strings.Contains(power, flag) && !strings.Contains(power, pascal(flag)) {
				t.Errorf("%s.ps1 does not use %s", name, flag)
			}
		}
		for _, query := range found(shell, `--query (merge\(.*\]\}\)|\[[^ ]* .*?\]) `) {
			if !strings.Contains(power, query) && !strings.Contains(query, "name==") {
				t.Errorf("%s.ps1 does not ask for %s", name, query)
			}
		}
	}
}

// The steps come in the same order.
func TestTwinSteps(t *testing.T) {
	for name, steps := range map[string][]string{
		"deploy": {"group create --name", "deployment group create", "acr import", "make --no-print-directory", "acr login", "docker push",
			"acr build", "resource show", "storage message put", "storage entity show"},
		"start": {"containerapp job show", "containerapp job start", "containerapp job execution show"},
	} {
		for _, file := range []string{name + ".sh", name + ".ps1"} {
			last := 0
			for _, step := range steps {
				at := strings.Index(code(t, file), step)
				if at < last {
					t.Errorf("%s: %s is not where it is in its twin", file, step)
				}
				last = at
			}
		}
	}
}

// Windows PowerShell 5.1 reads files without a mark as the code page of the
// machine, and does not know these words of PowerShell 7.
func TestPowerShell(t *testing.T) {
	newer := regexp.MustCompile(`\?\?|\?\.|&&|\|\||\? .* : |-AsHashtable|-EscapeHandling|ForEach-Object -Parallel|\bclean\s*\{`)
	for _, name := range []string{"azure.ps1", "parameters.ps1", "deploy.ps1", "start.ps1"} {
		text := script(t, name)
		for i, line := range strings.Split(text, "\n") {
			for _, r := range line {
				if r > 126 {
					t.Errorf("%s:%d has %q", name, i+1, r)
				}
			}
			if newer.MatchString(line) {
				t.Errorf("%s:%d is of PowerShell 7: %s", name, i+1, line)
			}
		}
		text = regexp.MustCompile(`(?s)<#.*?#>|(?m:^[ \t]*#[^\n]*$)|'[^'\n]*'|"(?:[^"\n]|"")*"`).ReplaceAllString(text, "")
		for open, closing := range map[string]string{"{": "}", "(": ")", "[": "]"} {
			if strings.Count(text, open) != strings.Count(text, closing) {
				t.Errorf("%s has %d %s and %d %s", name, strings.Count(text, open), open, strings.Count(text, closing), closing)
			}
		}
	}
}

// What cmd.exe would read in its own way is refused, whether somebody types it or
// an earlier deployment was given it; and both go by the same rules.
func TestTwinParameters(t *testing.T) {
	power := script(t, "parameters.ps1", "deploy.ps1")
	if !strings.Contains(power, `$NotForCmd = '["%&|<>^]'`) || strings.Count(power, "-match $NotForCmd") != 2 {
		t.Error("characters of cmd.exe are not refused")
	}
	shell := script(t, "parameters.sh")
	own := regexp.MustCompile(`stage \| image \| [\w| ]+`).FindString(shell)
	for name := range strings.SplitSeq(own, " | ") {
		if name = strings.TrimSpace(name); !strings.Contains(power, "'"+name+"'") {
			t.Errorf("parameters.ps1 keeps %s of the last deployment", name)
		}
	}
	// Before the first deployment there is none to ask: that is no error to show.
	if !strings.Contains(power, "@('registryName', 'registryLoginServer') -Quiet") {
		t.Error("deploy.ps1 shows that there is no deployment yet")
	}
}
