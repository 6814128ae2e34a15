// Package drawing is a picture of lines, images and words that comes out
// alike as SVG and as PNG. Lengths are those of the picture, to the right and down;
// shapes lie in the order in which they were added. Invariants: the same shapes give
// the same bytes, and no text gets out of its place.
package drawing

import (
	"image"
	"image/color"
)

// Picture is what was drawn so far, on white.
type Picture struct {
	width, height float64
	shapes        []shape
}

// Point is a place in a picture.
type Point struct{ X, Y float64 }

// Stroke is how a line is drawn.
type Stroke struct {
	Colour color.RGBA
	Width  float64
	// Dash is the length of a dash and of the gap behind it; 0 is a whole line.
	Dash float64
}

// Words are how a text is written.
type Words struct {
	Colour color.RGBA
	Size   float64 // of the letters
	Bold   bool
	Anchor Anchor
	// Most is the greatest width: a longer text is cut in its middle, with an
	// ellipsis. 0 is any. It is measured by the letters of a PNG.
	Most float64
}

// Anchor is the part of a text that stands at its point.
type Anchor int

// The anchors.
const (
	Begin Anchor = iota
	Middle
	End
)

// shape is something drawn: a line, an image or a text.
type shape struct {
	at, size Point
	points   []Point
	stroke   Stroke
	image    image.Image
	text     string
	words    Words
}

// New returns a white picture.
func New(width, height float64) *Picture { return &Picture{width: width, height: height} }

// Line draws a line through points. A single one is not seen.
func (p *Picture) Line(points []Point, s Stroke) {
	if len(points) > 1 {
		p.shapes = append(p.shapes, shape{points: points, stroke: s})
	}
}

// Image draws an image over a rectangle, each pixel of it with sharp edges.
func (p *Picture) Image(at, size Point, img image.Image) {
	p.shapes = append(p.shapes, shape{at: at, size: size, image: img})
}

// Text writes one line of text; at is on its base line.
func (p *Picture) Text(at Point, text string, w Words) {
	p.shapes = append(p.shapes, shape{at: at, text: text, words: w})
}
