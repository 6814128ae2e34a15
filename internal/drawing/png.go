package drawing

import (
	"fmt"
	"image"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// sheet is a picture while it becomes pixels.
type sheet struct {
	img   *image.RGBA
	scale float64 // pixels in a length of 1
	*letters
	faces map[Words]font.Face // by size and weight
	edges vector.Rasterizer   // of the line that is drawn
	near  image.Rectangle     // the pixels that it can touch
}

// PNG writes the picture with so many pixels in a length of 1. Its letters are
// Latin, Greek and Cyrillic ones; SVG has all.
func (p *Picture) PNG(w io.Writer, scale float64) error {
	bounds := image.Rect(0, 0, int(math.Ceil(p.width*scale)), int(math.Ceil(p.height*scale)))
	l, err := newLetters()
	if err != nil {
		return err
	}
	s := &sheet{letters: l, img: image.NewRGBA(bounds), scale: scale, faces: map[Words]font.Face{}}
	draw.Draw(s.img, bounds, image.White, image.Point{}, draw.Src)
	for i := range p.shapes {
		if err := s.paint(&p.shapes[i]); err != nil {
			return err
		}
	}
	enc := png.Encoder{CompressionLevel: png.BestSpeed} // twice as fast for a tenth more bytes
	return enc.Encode(w, s.img)
}

func (s *sheet) paint(sh *shape) error {
	switch {
	case sh.points != nil:
		s.line(sh.points, sh.stroke)
	case sh.image != nil:
		flat := image.NewRGBA(sh.image.Bounds()) // of the one kind that is quick to scale
		draw.Draw(flat, flat.Rect, sh.image, flat.Rect.Min, draw.Src)
		draw.NearestNeighbor.Scale(s.img, s.box(sh), flat, flat.Rect, draw.Over, nil)
	default:
		return s.write(sh)
	}
	return nil
}

// box is the rectangle of a shape in pixels, one wide and high at least.
func (s *sheet) box(sh *shape) image.Rectangle {
	at := func(x float64) int { return int(math.Round(x * s.scale)) }
	left, top := at(sh.at.X), at(sh.at.Y)
	return image.Rect(left, top, max(left+1, at(sh.at.X+sh.size.X)), max(top+1, at(sh.at.Y+sh.size.Y)))
}

// write draws a text.
func (s *sheet) write(sh *shape) error {
	key := Words{Size: sh.words.Size, Bold: sh.words.Bold}
	face := s.faces[key]
	if face == nil {
		var err error
		if face, err = opentype.NewFace(s.of(key), &opentype.FaceOptions{Size: key.Size * s.scale, DPI: 72, Hinting: font.HintingFull}); err != nil {
			return fmt.Errorf("size the letters: %w", err)
		}
		s.faces[key] = face
	}
	d := font.Drawer{Dst: s.img, Src: image.NewUniform(sh.words.Colour), Face: face}
	text := s.cut(sh.text, sh.words)
	x := fixed.Int26_6(math.Round(sh.at.X * s.scale * 64))
	switch width := d.MeasureString(text); sh.words.Anchor {
	case Middle:
		x -= width / 2
	case End:
		x -= width
	}
	d.Dot = fixed.Point26_6{X: x, Y: fixed.Int26_6(math.Round(sh.at.Y * s.scale * 64))}
	d.DrawString(text)
	return nil
}

// line draws a line as the area that a round pen covers.
func (s *sheet) line(points []Point, stroke Stroke) {
	radius := math.Max(stroke.Width*s.scale/2, 0.5)
	// All pixels of the edges are looked at, so that they are no more than needed.
	s.near = s.around(points, radius).Intersect(s.img.Rect)
	if s.near.Empty() {
		return
	}
	s.edges.Reset(s.near.Dx(), s.near.Dy())
	for _, part := range dashes(points, stroke.Dash) {
		for i, q := range part {
			s.dot(q, radius)
			if i > 0 {
				s.bar(part[i-1], q, radius)
			}
		}
	}
	s.edges.Draw(s.img, s.near, image.NewUniform(stroke.Colour), image.Point{})
}

// around is the rectangle of a line in pixels.
func (s *sheet) around(points []Point, radius float64) image.Rectangle {
	low, high := s.pixel(points[0], 0, 0), s.pixel(points[0], 0, 0)
	for _, p := range points {
		q := s.pixel(p, 0, 0)
		low = Point{math.Min(low.X, q.X), math.Min(low.Y, q.Y)}
		high = Point{math.Max(high.X, q.X), math.Max(high.Y, q.Y)}
	}
	pen := math.Ceil(radius) + 1
	return image.Rect(int(math.Floor(low.X-pen)), int(math.Floor(low.Y-pen)), int(math.Ceil(high.X+pen)), int(math.Ceil(high.Y+pen)))
}

// bar and dot go round their areas the same way: areas of one sense add up where
// they overlap, others would cut holes into each other.

// bar is the area beside a straight line.
func (s *sheet) bar(a, b Point, radius float64) {
	dx, dy := b.X-a.X, b.Y-a.Y
	far := math.Hypot(dx, dy)
	if far == 0 {
		return
	}
	nx, ny := -dy/far*radius, dx/far*radius
	s.area([]Point{s.pixel(a, nx, ny), s.pixel(a, -nx, -ny), s.pixel(b, -nx, -ny), s.pixel(b, nx, ny)})
}

// dot is the area of the pen; as many corners as are seen.
func (s *sheet) dot(at Point, radius float64) {
	const corners = 12
	var around []Point
	for i := range corners {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		around = append(around, s.pixel(at, radius*cos, radius*sin))
	}
	s.area(around)
}

// pixel is a point in pixels, moved by dx and dy pixels. What lies far outside of
// the picture is drawn at its edge.
func (s *sheet) pixel(p Point, dx, dy float64) Point {
	within := func(x, most float64) float64 { return math.Max(-most, math.Min(2*most, x)) }
	return Point{within(p.X*s.scale, float64(s.img.Rect.Dx())) + dx, within(p.Y*s.scale, float64(s.img.Rect.Dy())) + dy}
}

func (s *sheet) area(around []Point) {
	x, y := float64(s.near.Min.X), float64(s.near.Min.Y)
	s.edges.MoveTo(float32(around[0].X-x), float32(around[0].Y-y))
	for _, p := range around[1:] {
		s.edges.LineTo(float32(p.X-x), float32(p.Y-y))
	}
	s.edges.ClosePath()
}

// dashes cuts a line into its dashes, each as long as the gap behind it; dash 0
// leaves it whole.
func dashes(points []Point, dash float64) [][]Point {
	if dash <= 0 {
		return [][]Point{points}
	}
	var parts [][]Point
	part, left, drawn := []Point{points[0]}, dash, true
	for i := 1; i < len(points); i++ {
		from, to := points[i-1], points[i]
		for far := math.Hypot(to.X-from.X, to.Y-from.Y); far > 0; far = math.Hypot(to.X-from.X, to.Y-from.Y) {
			cut := to
			if far > left {
				cut = Point{from.X + (to.X-from.X)*left/far, from.Y + (to.Y-from.Y)*left/far}
			}
			part = append(part, cut)
			if far < left {
				left -= far
				break
			}
			if drawn {
				parts = append(parts, part)
			}
			from, part, left, drawn = cut, []Point{cut}, dash, !drawn
		}
	}
	if drawn && len(part) > 1 {
		parts = append(parts, part)
	}
	return parts
}
