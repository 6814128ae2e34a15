package river

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A time of an input lies within these years.
const (
	minYear = 1900
	maxYear = 2200
)

// Fixed words about times.
const (
	notATime    = "must be a time like 2026-01-02T03:00:00Z"
	noZone      = "is a time without a zone"
	noZoneHint  = "write UTC with Z, or an offset like -05:00, or name time_zone in basin.json"
	skippedTime = "is a local time that the change of clocks skips"
	doubledTime = "is a local time that the change of clocks gives twice"
	offsetHint  = "write the offset, like -05:00"
)

// timeProblem says why a text is no time, in fixed words.
type timeProblem struct{ problem, hint string }

// parseTime reads RFC 3339 as people write it: a space may stand for the T and
// before the zone, seconds may be missing, the offset may lack its colon, UTC
// may stand for Z. A fraction of a second is cut off: keys hold whole seconds.
// A time without a zone is read in zone; nil makes it a problem. The result is
// in UTC.
func parseTime(text string, zone *time.Location) (time.Time, *timeProblem) {
	wall, rest, ok := parseWall(text)
	if !ok {
		return time.Time{}, &timeProblem{problem: notATime}
	}
	if y := wall.Year(); y < minYear || y > maxYear {
		return time.Time{}, &timeProblem{problem: fmt.Sprintf("must lie in the years %d to %d", minYear, maxYear)}
	}
	if rest != "" {
		offset, ok := parseOffset(rest)
		if !ok {
			return time.Time{}, &timeProblem{problem: notATime}
		}
		return wall.Add(-offset), nil
	}
	if zone == nil {
		return time.Time{}, &timeProblem{noZone, noZoneHint}
	}
	return inZone(wall, zone)
}

// parseWall reads date and time of day as if they were UTC and returns what
// stands behind them without spaces.
func parseWall(text string) (wall time.Time, rest string, ok bool) {
	const date, minutes, seconds = "2006-01-02", "15:04", ":05"
	if len(text) < len(date)+1+len(minutes) || strings.IndexByte("Tt ", text[len(date)]) < 0 {
		return time.Time{}, "", false
	}
	end := len(date) + 1 + len(minutes)
	layout := date + " " + minutes
	if strings.HasPrefix(text[end:], ":") && len(text) >= end+len(seconds) {
		layout += seconds
		end += len(seconds)
	}
	stamp := text[:len(date)] + " " + text[len(date)+1:end]
	wall, err := time.Parse(layout, stamp)
	// Parse takes some forms that are shorter than their layout.
	if err != nil || wall.Format(layout) != stamp {
		return time.Time{}, "", false
	}
	rest = text[end:]
	if fraction, found := strings.CutPrefix(rest, "."); found && len(layout) == len(date)+1+len(minutes)+len(seconds) {
		rest = strings.TrimLeft(fraction, "0123456789")
		if len(rest) == len(fraction) {
			return time.Time{}, "", false
		}
	}
	return wall, strings.TrimLeft(rest, " "), true
}

// parseOffset reads Z, UTC, ±hh:mm or ±hhmm.
func parseOffset(text string) (time.Duration, bool) {
	switch text {
	case "Z", "z", "UTC":
		return 0, true
	}
	digits := strings.Replace(text[1:], ":", "", 1)
	if len(digits) != 4 || strings.Trim(digits, "0123456789") != "" || len(text) == 6 && text[3] != ':' {
		return 0, false
	}
	hours, minutes := int(digits[0]-'0')*10+int(digits[1]-'0'), int(digits[2]-'0')*10+int(digits[3]-'0')
	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if hours > 14 || minutes > 59 {
		return 0, false
	}
	switch text[0] {
	case '+':
		return offset, true
	case '-':
		return -offset, true
	}
	return 0, false
}

// inZone returns the one instant at which the clocks of zone show wall.
func inZone(wall time.Time, zone *time.Location) (time.Time, *timeProblem) {
	var found []time.Time
	// The offset at that time is one of those in force a day around it.
	for _, around := range []time.Duration{-24 * time.Hour, 0, 24 * time.Hour} {
		_, seconds := wall.Add(around).In(zone).Zone()
		instant := wall.Add(-time.Duration(seconds) * time.Second)
		_, there := instant.In(zone).Zone()
		if there == seconds && !slices.ContainsFunc(found, instant.Equal) {
			found = append(found, instant)
		}
	}
	switch len(found) {
	case 0:
		return time.Time{}, &timeProblem{skippedTime, offsetHint}
	case 1:
		return found[0], nil
	}
	return time.Time{}, &timeProblem{doubledTime, offsetHint}
}
