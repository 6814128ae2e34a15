package drawing

import (
	"fmt"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// letters are the two fonts, by which texts are measured whatever the form.
type letters struct {
	fonts [2]*opentype.Font
	buf   sfnt.Buffer
}

func newLetters() (*letters, error) {
	var l letters
	for i, ttf := range [][]byte{goregular.TTF, gobold.TTF} {
		var err error
		if l.fonts[i], err = opentype.Parse(ttf); err != nil {
			return nil, fmt.Errorf("read the letters: %w", err)
		}
	}
	return &l, nil
}

// of is the font of a text.
func (l *letters) of(w Words) *opentype.Font {
	if w.Bold {
		return l.fonts[1]
	}
	return l.fonts[0]
}

// width is how long a letter is. One that the font lacks is taken as wide as it is
// high, which the letters of no script exceed.
func (l *letters) width(r rune, w Words) float64 {
	const units = 64 // so that nothing is lost to hinting at a small size
	f := l.of(w)
	glyph, err := f.GlyphIndex(&l.buf, r)
	if err != nil || glyph == 0 {
		return w.Size
	}
	advance, err := f.GlyphAdvance(&l.buf, glyph, fixed.I(units), font.HintingNone)
	if err != nil {
		return w.Size
	}
	return float64(advance) / 64 / units * w.Size
}

// cut is a text no wider than w.Most, cut in the middle: names of a kind often
// differ at their ends.
func (l *letters) cut(text string, w Words) string {
	if w.Most <= 0 {
		return text
	}
	runes, total := []rune(text), 0.0
	for _, r := range runes {
		total += l.width(r, w)
	}
	if total <= w.Most {
		return text
	}
	room := w.Most - l.width('…', w)
	head, tail, used := 0, len(runes), 0.0
	for head < tail {
		next := runes[head]
		atHead := head <= len(runes)-tail
		if !atHead {
			next = runes[tail-1]
		}
		if used += l.width(next, w); used > room {
			break
		}
		if atHead {
			head++
		} else {
			tail--
		}
	}
	return string(runes[:head]) + "…" + string(runes[tail:])
}
