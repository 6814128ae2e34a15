package fortran

import (
	"math"
	"strconv"
)

// AppendInt appends v as Iw: right-aligned in width columns, stars where it
// does not fit.
func AppendInt(dst []byte, v, width int) []byte {
	var buffer [20]byte
	return appendRight(dst, strconv.AppendInt(buffer[:0], int64(v), 10), width)
}

// AppendE appends v as Ew.d: 0.12345E+03 right-aligned in width columns with
// digits behind the point. A three-digit exponent takes the place of the
// letter (0.12345-101). Where the columns are one too few the leading 0 goes;
// where that is not enough, or v is not finite, stars.
func AppendE(dst []byte, v float64, width, digits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) || digits < 1 {
		return appendStars(dst, width)
	}
	var buffer [64]byte
	b := buffer[:0]
	if v < 0 {
		b = append(b, '-')
	}
	leading := len(b)
	if n, exponent, ok := significant(math.Abs(v), digits); ok {
		b = append(b, '0', '.')
		b = appendDigits(b, n, digits)
		return appendTight(dst, appendExponent(b, exponent), leading, width)
	}
	b = append(b, '0', '.')
	if v == 0 {
		for range digits {
			b = append(b, '0')
		}
		return appendTight(dst, append(b, "E+00"...), leading, width)
	}
	// d.ddddde+xx from strconv becomes 0.ddddddE+yy with yy = xx+1.
	start := len(b)
	b = strconv.AppendFloat(b, math.Abs(v), 'e', digits-1, 64)
	end := start + digits
	exponent := b[end:]
	if digits > 1 {
		copy(b[start+1:], b[start+2:end+1])
		exponent = b[end+1:]
	}
	n := 0
	for _, c := range exponent[2:] {
		n = n*10 + int(c-'0')
	}
	if exponent[1] == '-' {
		n = -n
	}
	return appendTight(dst, appendExponent(b[:end], n+1), leading, width)
}

// appendExponent appends E+03, or +103 where the exponent has three digits.
func appendExponent(b []byte, n int) []byte {
	mark := byte('+')
	if n < 0 {
		mark, n = '-', -n
	}
	if n > 99 {
		return append(b, mark, byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
	}
	return append(b, 'E', mark, byte('0'+n/10), byte('0'+n%10))
}

// AppendF appends v as Fw.d: right-aligned in width columns with digits behind
// the point; the 0 before the point goes where the columns are one too few. A
// v that rounds to zero has no sign.
func AppendF(dst []byte, v float64, width, digits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) || digits < 0 {
		return appendStars(dst, width)
	}
	var buffer [64]byte
	b := strconv.AppendFloat(buffer[:0], v, 'f', digits, 64)
	leading := 0
	if b[0] == '-' {
		if isZero(b[1:]) {
			b = b[1:]
		} else {
			leading = 1
		}
	}
	if digits == 0 {
		b = append(b, '.')
	}
	return appendTight(dst, b, leading, width)
}

func isZero(digits []byte) bool {
	for _, c := range digits {
		if c != '0' && c != '.' {
			return false
		}
	}
	return true
}

// AppendG appends v as Gw.d: digits significant digits as F with four blanks
// behind it where 0.1 <= |v| < 10**digits once rounded, otherwise as Ew.d.
func AppendG(dst []byte, v float64, width, digits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) || digits < 1 {
		return appendStars(dst, width)
	}
	before := 1 // digits before the point
	if v != 0 {
		var buffer [64]byte
		b := strconv.AppendFloat(buffer[:0], math.Abs(v), 'e', digits-1, 64)
		mark := 1
		if digits > 1 {
			mark = digits + 1
		}
		n := 0
		for _, c := range b[mark+2:] {
			n = n*10 + int(c-'0')
		}
		if b[mark+1] == '-' {
			n = -n
		}
		before = n + 1
	}
	if before < 0 || before > digits {
		return AppendE(dst, v, width, digits)
	}
	dst = AppendF(dst, v, max(width-4, 0), digits-before)
	return append(dst, "    "[:min(4, width)]...)
}

// AppendExp appends v as C prints %.{digits}e: 1.234e+05, the exponent with at
// least two digits.
func AppendExp(dst []byte, v float64, digits int) []byte {
	if n, exponent, ok := significant(math.Abs(v), digits+1); ok {
		if v < 0 {
			dst = append(dst, '-')
		}
		start := len(dst)
		dst = appendDigits(append(dst, 0), n, digits+1)
		dst[start] = dst[start+1]
		if digits > 0 {
			dst[start+1] = '.'
		} else {
			dst = dst[:start+1]
		}
		mark := byte('+')
		if exponent--; exponent < 0 {
			mark, exponent = '-', -exponent
		}
		return append(dst, 'e', mark, byte('0'+exponent/10), byte('0'+exponent%10))
	}
	return strconv.AppendFloat(dst, v, 'e', digits, 64)
}

// maxFastDigits bounds significant: beyond it, rounding of the product could
// reach a digit.
const maxFastDigits = 11

// significant returns v > 0 as 0.n * 10**exponent with n of that many digits,
// rounded to nearest. ok is false where the quick way is not certain to be
// right: then strconv, which always is, has to do it.
func significant(v float64, digits int) (n uint64, exponent int, ok bool) {
	if digits < 1 || digits > maxFastDigits || v < 1e-30 || v > 1e30 {
		return 0, 0, false
	}
	// 2**binary <= v; times log10(2), rounded down, the exponent or one less.
	binary := int(math.Float64bits(v)>>52) - 1023
	exponent = (binary*315653)>>20 + 1
	scaled, ok := shift(v, digits-exponent)
	if scaled >= exactPowers[digits] {
		exponent++
		scaled, ok = shift(v, digits-exponent)
	}
	if !ok {
		return 0, 0, false
	}
	n = uint64(scaled)
	part := scaled - float64(n)
	// scaled is off by less than 1e-4: 11 digits against the 15 of a float64.
	if math.Abs(part-.5) < 1e-4 || n < uint64(exactPowers[digits-1]) {
		return 0, 0, false
	}
	if part > .5 {
		n++
	}
	if n == uint64(exactPowers[digits]) {
		n, exponent = n/10, exponent+1
	}
	return n, exponent, true
}

// shift returns v*10**k, rounded once; ok is false where 10**k is not exact.
func shift(v float64, k int) (shifted float64, ok bool) {
	switch {
	case 0 <= k && k < len(exactPowers):
		return v * exactPowers[k], true
	case k < 0 && -k < len(exactPowers):
		return v / exactPowers[-k], true
	}
	return 0, false
}

// appendDigits appends n with exactly that many digits.
func appendDigits(dst []byte, n uint64, digits int) []byte {
	start := len(dst)
	for range digits {
		dst = append(dst, '0')
	}
	i := len(dst) - 1
	for ; i > start; i -= 2 {
		rest := n / 100
		pair := uint32(n - rest*100)
		dst[i], dst[i-1] = byte('0'+pair%10), byte('0'+pair/10)
		n = rest
	}
	if i == start {
		dst[i] = byte('0' + n)
	}
	return dst
}

// appendTight appends text right-aligned; the 0 before the point, at leading,
// is left out where only that makes it fit.
func appendTight(dst, text []byte, leading, width int) []byte {
	if len(text) == width+1 && len(text) > leading+2 && text[leading] == '0' && text[leading+1] == '.' {
		text = append(text[:leading], text[leading+1:]...)
	}
	return appendRight(dst, text, width)
}

func appendRight(dst, text []byte, width int) []byte {
	if len(text) > width {
		return appendStars(dst, width)
	}
	for range width - len(text) {
		dst = append(dst, ' ')
	}
	return append(dst, text...)
}

func appendStars(dst []byte, width int) []byte {
	for range width {
		dst = append(dst, '*')
	}
	return dst
}
