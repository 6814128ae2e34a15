package message

import (
	"strings"
	"testing"
	"time"
)

func TestDelivery(t *testing.T) {
	d := Delivery{MessageID: "0a1b", Attempt: 2, Attempts: 5, InsertedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	back, err := ParseDelivery(d.Encode())
	if err != nil || *back != d {
		t.Errorf("%+v, %v", back, err)
	}
	whole := d.Encode()
	for _, text := range []string{"", "{}", "[]", "canary", whole + "{}", whole[:len(whole)-1], strings.Replace(whole, "{", `{"canary":1,`, 1),
		strings.Replace(whole, `"attempt":2`, `"attempt":0`, 1), strings.Replace(whole, `"attempts":5`, `"attempts":"canary"`, 1),
		strings.Replace(whole, "0a1b", strings.Repeat("a", 65), 1), strings.Replace(whole, "0a1b", "", 1), strings.Replace(whole, "2026", "canary", 1)} {
		if _, err := ParseDelivery(text); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
