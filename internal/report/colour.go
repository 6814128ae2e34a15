package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
)

// Colours that people with any colour vision tell apart: those of Okabe and Ito.
const (
	black     = "#111111"
	blue      = "#0072b2"
	orange    = "#d55e00"
	green     = "#009e73"
	purple    = "#cc79a7"
	sky       = "#56b4e9"
	lightGrey = "#b8bec6"
)

// stops is a scale from light to dark whose lightness alone tells its order, so
// that it also survives a black-and-white printer.
func stops() []color.RGBA {
	return []color.RGBA{{0xfd, 0xe7, 0x25, 255}, {0xb5, 0xde, 0x2b, 255}, {0x6e, 0xce, 0x58, 255}, {0x35, 0xb7, 0x79, 255}, {0x1f, 0x9e, 0x89, 255},
		{0x26, 0x82, 0x8e, 255}, {0x31, 0x68, 0x8e, 255}, {0x3e, 0x49, 0x89, 255}, {0x48, 0x28, 0x78, 255}, {0x44, 0x01, 0x54, 255}}
}

// shades is how many colours the heat map has, besides none.
const shades = 64

// palette is none, then the shades from light to dark.
func palette() color.Palette {
	p := color.Palette{color.RGBA{}}
	s := stops()
	for i := range shades {
		x := float64(i) / (shades - 1) * float64(len(s)-1)
		k := min(int(x), len(s)-2)
		mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (float64(b)-float64(a))*(x-float64(k)))) }
		p = append(p, color.RGBA{mix(s[k].R, s[k+1].R), mix(s[k].G, s[k+1].G), mix(s[k].B, s[k+1].B), 255})
	}
	return p
}

// level is where a concentration stands among n levels between the logarithms low
// and high, 1 to n; 0 for none.
func level(c, low, high float64, n int) int {
	if c <= 0 {
		return 0
	}
	part := (math.Log10(c) - low) / (high - low)
	return 1 + int(math.Round(math.Max(0, math.Min(1, part))*float64(n-1)))
}

// heat is the picture of a field: time to the right, downstream down, rows of
// equal length. A row shows the highest of the bins that it touches.
func (f *field) heat(columns int, low, high float64) *image.Paletted {
	rows := min(maxMiles, max(60, 2*f.bins()))
	img := image.NewPaletted(image.Rect(0, 0, columns, rows), palette())
	top, bottom := f.miles[0], f.miles[f.bins()]
	first := 0
	for y := range rows {
		from := top + (bottom-top)*float64(y)/float64(rows)
		to := top + (bottom-top)*float64(y+1)/float64(rows)
		for first+1 < f.bins() && f.before(f.miles[first+1], from) {
			first++
		}
		for x := range columns {
			most := 0.0
			for bin := first; bin < f.bins() && (bin == first || f.before(f.miles[bin], to)); bin++ {
				most = math.Max(most, f.at(bin, x, columns))
			}
			img.SetColorIndex(x, y, uint8(level(most, low, high, shades)))
		}
	}
	return img
}

// before reports whether mile a lies upstream of b.
func (f *field) before(a, b float64) bool { return float64(f.sense)*(a-b) < -1e-9 }

// dataURL is an image as a part of the page.
func dataURL(img image.Image) (string, error) {
	var b bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	if err := enc.Encode(&b, img); err != nil {
		return "", fmt.Errorf("draw the heat map: %w", err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// ramp is the colour scale as an image of one row.
func ramp() image.Image {
	img := image.NewPaletted(image.Rect(0, 0, shades, 1), palette())
	for i := range shades {
		img.SetColorIndex(i, 0, uint8(i+1))
	}
	return img
}
