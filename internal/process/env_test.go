package process

import (
	"slices"
	"testing"
)

func TestMinimalEnv(t *testing.T) {
	fixed := []string{"TZ=UTC", "LC_NUMERIC=C", "PYTHONUNBUFFERED=1", "GFORTRAN_UNBUFFERED_ALL=y"} // H13
	utf8 := append([]string{"LC_CTYPE=C.UTF-8"}, fixed...)                                         // H15
	tests := []struct {
		name  string
		have  map[string]string
		extra []string
		want  []string
	}{
		{"nothing", nil, nil, utf8},
		{"known and unknown",
			map[string]string{"PATH": "/bin", "HOME": "/h", "AZURE_CLIENT_ID": "x", "LD_PRELOAD": "y", "RSMS_STORE_DIR": "z"},
			nil, append([]string{"PATH=/bin", "HOME=/h"}, utf8...)},
		{"Windows", map[string]string{"SystemRoot": `C:\Windows`, "TEMP": `C:\T`}, nil,
			append([]string{`SystemRoot=C:\Windows`, `TEMP=C:\T`}, utf8...)},
		{"a character set", map[string]string{"LC_CTYPE": "de_DE.ISO-8859-1"}, nil,
			append([]string{"LC_CTYPE=de_DE.ISO-8859-1"}, fixed...)},
		{"an empty one", map[string]string{"LANG": ""}, nil, append([]string{"LANG="}, utf8...)},
		{"a decimal comma does not get through",
			map[string]string{"LANG": "de_DE.UTF-8", "LC_ALL": "de_DE.UTF-8", "LC_NUMERIC": "de_DE"},
			nil, append([]string{"LANG=de_DE.UTF-8", "LC_CTYPE=de_DE.UTF-8"}, fixed...)},
		{"extra", map[string]string{"WINEPREFIX": "/w", "HOME": "/h"},
			[]string{"WINEPREFIX", "WINEARCH", "HOME=/other", "A=b=c", "EMPTY=", "=x"},
			append(append([]string{"HOME=/other"}, utf8...), "WINEPREFIX=/w", "A=b=c", "EMPTY=")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			lookup := func(name string) (string, bool) { v, ok := test.have[name]; return v, ok }
			if got := MinimalEnv(lookup, test.extra...); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
