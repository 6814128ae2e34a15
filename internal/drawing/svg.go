package drawing

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"strconv"
)

// SVG writes the picture for a browser or a drawing program. title is what a screen
// reader says of it.
func (p *Picture) SVG(w io.Writer, title string) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%[1]s" height="%[2]s" role="img" font-family="Helvetica, Arial, sans-serif"><title>`,
		length(p.width), length(p.height))
	if err := xml.EscapeText(b, []byte(title)); err != nil {
		return err
	}
	fmt.Fprintf(b, "</title>\n"+`<rect width="%s" height="%s" fill="#ffffff"/>`+"\n", length(p.width), length(p.height))
	l, err := newLetters()
	if err != nil {
		return err
	}
	for i := range p.shapes {
		if err := p.shapes[i].svg(b, l); err != nil {
			return err
		}
	}
	if _, err := b.WriteString("</svg>\n"); err != nil {
		return err
	}
	return b.Flush()
}

// svg writes a shape; an error of the writer shows when it is flushed.
func (s *shape) svg(b *bufio.Writer, l *letters) error {
	switch {
	case s.points != nil:
		dash := ""
		if s.stroke.Dash > 0 {
			dash = ` stroke-dasharray="` + length(s.stroke.Dash) + `"`
		}
		fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="%s" stroke-linejoin="round" stroke-linecap="round"%s points="`, hex(s.stroke.Colour), length(s.stroke.Width), dash)
		for _, q := range s.points {
			fmt.Fprintf(b, "%s,%s ", length(q.X), length(q.Y))
		}
		b.WriteString("\"/>\n")
	case s.image != nil:
		var data bytes.Buffer
		enc := png.Encoder{CompressionLevel: png.BestCompression}
		if err := enc.Encode(&data, s.image); err != nil {
			return fmt.Errorf("write an image: %w", err)
		}
		fmt.Fprintf(b, `<image %s preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,%s"/>`+"\n",
			s.box(), base64.StdEncoding.EncodeToString(data.Bytes()))
	default:
		weight := ""
		if s.words.Bold {
			weight = ` font-weight="bold"`
		}
		fmt.Fprintf(b, `<text x="%s" y="%s" font-size="%s" fill="%s" text-anchor="%s"%s>`, length(s.at.X), length(s.at.Y), length(s.words.Size),
			hex(s.words.Colour), [...]string{"start", "middle", "end"}[s.words.Anchor], weight)
		if err := xml.EscapeText(b, []byte(l.cut(s.text, s.words))); err != nil {
			return err
		}
		b.WriteString("</text>\n")
	}
	return nil
}

func (s *shape) box() string {
	return fmt.Sprintf(`x="%s" y="%s" width="%s" height="%s"`, length(s.at.X), length(s.at.Y), length(s.size.X), length(s.size.Y))
}

// length has a hundredth, which no eye sees.
func length(x float64) string {
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64)
}

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }
