package drawing_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"
	"testing"

	"rsmsjob/internal/drawing"
)

var (
	white = color.RGBA{255, 255, 255, 255}
	blue  = color.RGBA{0, 0x72, 0xb2, 255}
	ink   = color.RGBA{0x11, 0x11, 0x11, 255}
)

func at(x, y float64) drawing.Point { return drawing.Point{X: x, Y: y} }

// pixels draws a picture of 100 by 50 with two pixels in a length of 1.
func pixels(t *testing.T, draw func(*drawing.Picture)) image.Image {
	t.Helper()
	p := drawing.New(100, 50)
	draw(p)
	var b bytes.Buffer
	if err := p.PNG(&b, 2); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	if img.Bounds() != image.Rect(0, 0, 200, 100) {
		t.Fatalf("bounds are %v", img.Bounds())
	}
	return img
}

// is wants pixels of a colour, at lengths of the picture.
func is(t *testing.T, img image.Image, want color.RGBA, points ...drawing.Point) {
	t.Helper()
	for _, p := range points {
		if got := color.RGBAModel.Convert(img.At(int(p.X*2), int(p.Y*2))); got != want {
			t.Errorf("at %v is %v, want %v", p, got, want)
		}
	}
}

func TestLinePixels(t *testing.T) {
	s := drawing.Stroke{Colour: blue, Width: 6}
	img := pixels(t, func(p *drawing.Picture) {
		// There and back again, and across: what overlaps stays full.
		p.Line([]drawing.Point{at(10, 20), at(90, 20), at(10, 20), at(50, 20), at(50, 45)}, s)
	})
	is(t, img, blue, at(10, 20), at(50, 20), at(89, 20), at(50, 40), at(49, 44), at(30, 22), at(30, 18))
	is(t, img, white, at(30, 25), at(30, 15), at(5, 20), at(96, 20), at(57, 40))
}

func TestDashes(t *testing.T) {
	s := drawing.Stroke{Colour: blue, Width: 2, Dash: 10}
	straight := pixels(t, func(p *drawing.Picture) { p.Line([]drawing.Point{at(10, 20), at(90, 20)}, s) })
	bent := pixels(t, func(p *drawing.Picture) {
		var points []drawing.Point // as many points as a curve may have do not change its dashes
		for x := 10.0; x <= 90; x++ {
			points = append(points, at(x, 20))
		}
		p.Line(points, s)
	})
	for _, img := range []image.Image{straight, bent} {
		is(t, img, blue, at(15, 20), at(35, 20), at(55, 20), at(75, 20))
		is(t, img, white, at(25, 20), at(45, 20), at(65, 20), at(85, 20))
	}
}

func TestFarOutside(t *testing.T) {
	img := pixels(t, func(p *drawing.Picture) {
		p.Line([]drawing.Point{at(-1e9, 20), at(1e9, 20)}, drawing.Stroke{Colour: blue, Width: 4})
		p.Line([]drawing.Point{at(3, 3)}, drawing.Stroke{Colour: blue, Width: 4})
		p.Line(nil, drawing.Stroke{Colour: blue, Width: 4})
	})
	is(t, img, blue, at(1, 20), at(50, 20), at(99, 20))
	is(t, img, white, at(3, 3), at(50, 30))
}

func TestImageAndOrder(t *testing.T) {
	small := image.NewRGBA(image.Rect(0, 0, 2, 1)) // the left half is clear
	small.SetRGBA(1, 0, ink)
	img := pixels(t, func(p *drawing.Picture) {
		p.Line([]drawing.Point{at(25, 25), at(55, 25)}, drawing.Stroke{Colour: blue, Width: 30})
		p.Image(at(20, 15), at(40, 20), small)
	})
	is(t, img, blue, at(26, 12), at(25, 20), at(39, 20))
	is(t, img, ink, at(41, 20), at(59, 34))
	is(t, img, white, at(5, 20), at(75, 20))
}

// Words stand left of, around or right of their point.
func TestWords(t *testing.T) {
	dark := func(anchor drawing.Anchor, text string) (left, right int) {
		img := pixels(t, func(p *drawing.Picture) {
			p.Text(at(50, 30), text, drawing.Words{Colour: ink, Size: 12, Anchor: anchor})
		})
		for y := range 100 {
			for x := range 200 {
				if r, _, _, _ := img.At(x, y).RGBA(); r < 0x8000 {
					if x < 100 {
						left++
					} else {
						right++
					}
				}
			}
		}
		return left, right
	}
	if left, right := dark(drawing.Begin, "mile µß"); left > 0 || right == 0 {
		t.Errorf("begin: %d and %d", left, right)
	}
	if left, right := dark(drawing.Middle, "HHHH"); left == 0 || right == 0 {
		t.Errorf("middle: %d and %d", left, right)
	}
	if left, right := dark(drawing.End, "mile"); left == 0 || right > 0 {
		t.Errorf("end: %d and %d", left, right)
	}
}

// A text is no wider than it may be, whatever its letters, and keeps both its ends.
func TestWidthOfWords(t *testing.T) {
	for _, name := range []string{strings.Repeat("W", 100), strings.Repeat("i", 400), strings.Repeat("水", 40), "Municipal Water Works No. 1234 intake"} {
		words := drawing.Words{Colour: ink, Size: 12, Most: 70}
		img := pixels(t, func(p *drawing.Picture) { p.Text(at(10, 30), name, words) })
		right := 0
		for y := range 100 {
			for x := range 200 {
				if r, _, _, _ := img.At(x, y).RGBA(); r < 0x8000 {
					right = max(right, x)
				}
			}
		}
		if right < 2*55 || right > 2*81 {
			t.Errorf("%.10s ends at %v, want about 80", name, float64(right)/2)
		}
		p := drawing.New(100, 50)
		p.Text(at(10, 30), name, words)
		var b strings.Builder
		if err := p.SVG(&b, "x"); err != nil {
			t.Fatal(err)
		}
		runes := []rune(name)
		_, written, _ := strings.Cut(b.String(), "<text")
		if !strings.Contains(written, ">"+string(runes[0])) || !strings.Contains(written, "…") || !strings.Contains(written, string(runes[len(runes)-1])+"</text>") {
			t.Errorf("in the SVG: %s", written)
		}
	}
	short := drawing.New(100, 50)
	short.Text(at(10, 30), "mile 12", drawing.Words{Size: 12, Most: 70})
	var b strings.Builder
	if err := short.SVG(&b, "x"); err != nil || !strings.Contains(b.String(), ">mile 12<") {
		t.Errorf("%v in %s", err, b.String())
	}
}

// Any text stays text.
func TestSVG(t *testing.T) {
	const name = "</text><script>alert(1)</script> & \"x\" \x00\xff"
	p := drawing.New(100, 50)
	p.Text(at(1, 2), name, drawing.Words{Size: 12, Bold: true, Anchor: drawing.End})
	p.Line([]drawing.Point{at(0, 0), at(1.234, 5)}, drawing.Stroke{Colour: blue, Width: 1, Dash: 3})
	p.Image(at(0, 0), at(2, 2), image.NewRGBA(image.Rect(0, 0, 1, 1)))
	var b strings.Builder
	if err := p.SVG(&b, name); err != nil {
		t.Fatal(err)
	}
	texts, shapes := 0, map[string]int{}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			shapes[token.Name.Local]++
		case xml.CharData:
			if string(token) == "</text><script>alert(1)</script> & \"x\" ��" {
				texts++
			}
		}
	}
	if texts != 2 || shapes["script"] != 0 || shapes["text"] != 1 || shapes["polyline"] != 1 || shapes["image"] != 1 || shapes["rect"] != 1 {
		t.Errorf("%d texts, %v in\n%s", texts, shapes, b.String())
	}
	for _, want := range []string{`points="0,0 1.23,5 "`, `stroke="#0072b2"`, `stroke-dasharray="3"`, `text-anchor="end"`, `font-weight="bold"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %s", want)
		}
	}
}

// A writer that is full is told.
func TestFullDisk(t *testing.T) {
	p := drawing.New(100, 50)
	full := errors.New("no space left")
	if err := p.SVG(failing{full}, "x"); !errors.Is(err, full) {
		t.Errorf("SVG: %v", err)
	}
	if err := p.PNG(failing{full}, 1); !errors.Is(err, full) {
		t.Errorf("PNG: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
