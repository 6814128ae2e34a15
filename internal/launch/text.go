package launch

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable is text that can be shown anywhere: lines and tabs stay, any other
// character without a picture goes.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' || unicode.IsPrint(c) {
			return c
		}
		return -1
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// maxMessage bounds how much of what the service says goes into one line of the
// log.
const maxMessage = 300

// oneLine is what the service says, for an error or a log.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(printable(text)), " ")
	if len(text) <= maxMessage {
		return text
	}
	end := maxMessage
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// lastLines is the end of a text, so many bytes at most; it begins with a line
// where there is a whole one.
func lastLines(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	if _, rest, ok := strings.Cut(text, "\n"); ok && rest != "" {
		return rest
	}
	return strings.TrimLeftFunc(text, func(c rune) bool { return c == utf8.RuneError })
}
