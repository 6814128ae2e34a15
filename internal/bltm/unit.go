package bltm

import (
	"math"
	"strconv"
	"strings"
)

// unit is that of the last digit of a number as it was written: 0.001 for 1.250,
// 1e-5 for 1.25E-03. A 0 with an exponent is exact: such a format keeps digits of
// whatever is not 0.
func unit(number string) float64 {
	number, _, _ = strings.Cut(strings.TrimLeft(number, "+-"), "/")
	digits, exponent := number, 0
	if i := strings.IndexAny(number, "eEdDqQ+-"); i >= 0 {
		digits = number[:i]
		if strings.Trim(digits, "0.") == "" {
			return 0
		}
		exponent, _ = strconv.Atoi(strings.TrimLeft(number[i:], "eEdDqQ"))
	}
	if _, decimals, ok := strings.Cut(digits, "."); ok {
		exponent -= len(decimals)
	}
	return math.Pow(10, float64(exponent))
}
