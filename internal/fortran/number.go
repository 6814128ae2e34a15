// Package fortran reads and writes the records of Fortran programs: fixed
// columns, list-directed items, and numbers as Fortran writes them. It knows
// no file format. Invariant: a field is either the number it says or a fault
// that says where it stands; nothing is read as 0 but a blank field.
package fortran

import (
	"bytes"
	"math"
	"strconv"

	"rsmsjob/internal/reason"
)

// Problems of a number, in fixed words.
const (
	problemOverflow   = "the number did not fit its columns when it was written"
	problemInteger    = "not a whole number"
	problemNumber     = "not a number"
	problemNotFinite  = "not a finite number"
	problemBlank      = "a blank inside a number"
	problemOutOfRange = "number out of range"
)

// ParseInt reads a whole number from a fixed-width field. Blanks around it are
// ignored, a field of blanks is 0, a blank inside is a fault: Fortran would
// take it as a digit 0, which no writer means. The error is a *reason.Fault
// with Problem and Text only.
func ParseInt(field []byte) (int, error) {
	s := trim(field)
	if len(s) == 0 {
		return 0, nil
	}
	digits, negative := sign(s)
	if len(digits) == 0 {
		return 0, wrongNumber(s, problemInteger)
	}
	n := 0
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, wrongNumber(s, problemInteger)
		}
		d := int(c - '0')
		if n > (math.MaxInt-d)/10 {
			return 0, &reason.Fault{Problem: problemOutOfRange, Text: string(s)}
		}
		n = n*10 + d
	}
	if negative {
		n = -n
	}
	return n, nil
}

// exactPowers are the powers of ten that a float64 holds exactly.
var exactPowers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// ParseFloat reads a real number from a fixed-width field, correctly rounded:
// 1.5, .5, 5., +3, 1e5, 1.5D-3 and, with the letter of a three-digit exponent
// left out, 1.5-101. Blanks are treated as by ParseInt. Stars (overflow), NaN
// and infinities, and numbers beyond a float64 are refused; a number too small
// for a float64 is 0 or subnormal. A number without a decimal point is taken
// as it stands. The error is a *reason.Fault with Problem and Text only.
func ParseFloat(field []byte) (float64, error) {
	s := trim(field)
	if len(s) == 0 {
		return 0, nil
	}
	rest, negative := sign(s)
	mantissa, digits, scale := uint64(0), 0, 0
	exact, point := true, false
	i := 0
	for ; i < len(rest); i++ {
		c := rest[i]
		if c == '.' && !point {
			point = true
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		digits++
		if mantissa < 1e17 {
			mantissa = mantissa*10 + uint64(c-'0')
		} else {
			exact = false
		}
		if point {
			scale--
		}
	}
	if digits == 0 {
		return 0, wrongNumber(s, problemNumber)
	}
	mantissaEnd := i
	exponent, ok := parseExponent(rest[i:])
	if !ok {
		return 0, wrongNumber(s, problemNumber)
	}
	var v float64
	switch power := exponent + scale; {
	case exact && mantissa < 1<<53 && 0 <= power && power < len(exactPowers):
		v = float64(mantissa) * exactPowers[power]
	case exact && mantissa < 1<<53 && power < 0 && -power < len(exactPowers):
		v = float64(mantissa) / exactPowers[-power]
	default:
		var buffer [40]byte
		text := append(buffer[:0], rest[:mantissaEnd]...)
		text = append(text, 'e')
		text = strconv.AppendInt(text, int64(exponent), 10)
		var err error
		if v, err = strconv.ParseFloat(string(text), 64); err != nil {
			return 0, &reason.Fault{Problem: problemOutOfRange, Text: string(s)}
		}
	}
	if negative {
		v = -v
	}
	return v, nil
}

// maxExponent bounds an exponent while it is read; far beyond any float64.
const maxExponent = 1_000_000

// parseExponent reads what stands behind the digits: nothing, a letter with an
// optional sign and digits, or a sign and digits.
func parseExponent(s []byte) (exponent int, ok bool) {
	if len(s) == 0 {
		return 0, true
	}
	switch s[0] {
	case 'e', 'E', 'd', 'D', 'q', 'Q':
		s = s[1:]
	case '+', '-':
	default:
		return 0, false
	}
	digits, negative := sign(s)
	if len(digits) == 0 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		exponent = min(exponent*10+int(c-'0'), maxExponent)
	}
	if negative {
		exponent = -exponent
	}
	return exponent, true
}

func sign(s []byte) (rest []byte, negative bool) {
	if len(s) > 0 && (s[0] == '+' || s[0] == '-') {
		return s[1:], s[0] == '-'
	}
	return s, false
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

func trim(s []byte) []byte {
	for len(s) > 0 && blank(s[0]) {
		s = s[1:]
	}
	for len(s) > 0 && blank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// wrongNumber says as closely as possible what is wrong with s; otherwise is
// the problem where nothing closer is known.
func wrongNumber(s []byte, otherwise string) *reason.Fault {
	problem := otherwise
	word, _ := sign(s)
	lower := bytes.ToLower(word)
	switch {
	case len(bytes.Trim(s, "*")) == 0:
		problem = problemOverflow
	case bytes.HasPrefix(lower, []byte("nan")), bytes.HasPrefix(lower, []byte("inf")):
		problem = problemNotFinite
	case bytes.ContainsAny(s, " \t") && numeric(s):
		problem = problemBlank
	}
	return &reason.Fault{Problem: problem, Text: string(s)}
}

// numeric reports whether s has only characters of numbers and blanks.
func numeric(s []byte) bool {
	for _, c := range s {
		if !bytes.ContainsRune([]byte("0123456789+-.eEdDqQ \t"), rune(c)) {
			return false
		}
	}
	return true
}
