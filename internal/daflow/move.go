package daflow

import "math"

// group is a run of shocks that met each other in a step.
type group struct {
	before, after, draws int // where it starts among the shocks before the step, those after it, the draws
	// furthest is how far any shock up to the end of the group got, those
	// included that came to nothing on the way.
	furthest float64
}

// speed returns how fast s moves: the speed (Qu-Qd)/(Au-Ad) at which the
// volume is conserved, and the wave celerity where both sides are so close
// that their difference is rounding.
func (r *reach) speed(s *shock) float64 {
	difference := s.up - s.down
	if math.Abs(difference) <= 1e-9*(s.up+s.down) {
		return power(s.up, 1-r.a2) / (r.a1 * r.a2)
	}
	return difference / (r.a1 * (s.upPow - s.downPow))
}

// move lets all shocks move for dt. Each moves on its own first; where one
// passes the next, the shocks in question move again event by event.
func (b *branch) move(dt float64) {
	b.moved, b.groups, b.draws = b.moved[:0], b.groups[:0], b.draws[:0]
	b.drawBefore(dt)
	for i := range b.shocks {
		g := b.open(i)
		if s := b.shocks[i]; b.run(&s, dt) {
			b.moved = append(b.moved, s)
		}
		b.close(g)
		// A group that got beyond the first shock of the next met it.
		for n := len(b.groups) - 1; n > 0; n-- {
			g := b.groups[n]
			if g.after == len(b.moved) || b.groups[n-1].furthest <= b.moved[g.after].at {
				break
			}
			g = b.groups[n-1]
			b.groups = b.groups[:n-1]
			b.moved, b.draws = b.moved[:g.after], b.draws[:g.draws]
			g = b.open(g.before)
			b.meet(b.shocks[g.before:i+1], dt)
			b.close(g)
		}
	}
	b.settle()
	for _, d := range b.draws {
		b.sources[b.reaches[d.reach].source].drawn += d.volume
	}
}

// open starts a group with the shock i; gone is how far its shocks get that
// come to nothing.
func (b *branch) open(i int) group {
	b.gone = 0
	return group{before: i, after: len(b.moved), draws: len(b.draws)}
}

// close adds g, whose shocks have moved, to the groups.
func (b *branch) close(g group) {
	g.furthest = b.gone
	if n := len(b.moved); n > g.after {
		g.furthest = max(g.furthest, b.moved[n-1].at)
	}
	if n := len(b.groups); n > 0 {
		g.furthest = max(g.furthest, b.groups[n-1].furthest)
	}
	b.groups = append(b.groups, g)
}

// settle takes the moved shocks over: those beyond the end of the branch are
// gone, those that rounding left in wrong order stand together.
func (b *branch) settle() {
	end := b.reaches[len(b.reaches)-1].end
	out := b.shocks[:0]
	for _, s := range b.moved {
		if s.at >= end {
			break
		}
		keep := true
		if n := len(out); n > 0 {
			for keep && s.reach < out[n-1].reach {
				keep = b.enter(&s, 0)
			}
			s.at = max(s.at, out[n-1].at)
		}
		if keep {
			out = append(out, s)
		}
	}
	b.shocks = out
}

// drawBefore sets what each source withdraws in dt while no shock passes.
func (b *branch) drawBefore(dt float64) {
	q, from, k := b.head, 0, 0
	for i := range b.sources {
		s := &b.sources[i]
		for ; from < s.reach; from++ {
			if from > 0 {
				q = pass(q, b.reaches[from].lateral)
			}
			for ; k < len(b.shocks) && b.shocks[k].reach == from; k++ {
				q = b.shocks[k].down
			}
		}
		s.drawn = 0
		if l := b.reaches[s.reach].lateral; l < 0 {
			s.drawn = (q - pass(q, l)) * dt
		}
	}
}

// run moves s alone for dt; past the end of the branch it goes on at its last
// speed. It reports whether there is still a difference between its sides.
func (b *branch) run(s *shock, dt float64) bool {
	for {
		r := &b.reaches[s.reach]
		v := r.speed(s)
		way := r.end - s.at
		if v*dt < way || s.reach == len(b.reaches)-1 {
			s.at += v * dt
			return true
		}
		dt = max(0, dt-way/v)
		if !b.enter(s, dt) {
			return false
		}
	}
}

// enter lets s pass the grid at the end of its reach with dt left of the step.
// It reports whether there is still a difference between its sides.
func (b *branch) enter(s *shock, dt float64) bool {
	r := &b.reaches[s.reach]
	s.reach++
	next := &b.reaches[s.reach]
	s.at = next.start
	if next.lateral != 0 {
		up, down := pass(s.up, next.lateral), pass(s.down, next.lateral)
		if next.lateral < 0 {
			b.draws = append(b.draws, draw{s.reach, ((s.up - up) - (s.down - down)) * dt})
		}
		s.up, s.down = up, down
		if same(up, down) {
			b.gone = max(b.gone, s.at)
			return false
		}
	} else if next.a2 == r.a2 {
		return true
	}
	s.upPow, s.downPow = power(s.up, next.a2), power(s.down, next.a2)
	return true
}

// meet moves a run of shocks for dt event by event: passing a grid, catching
// the next one, leaving the branch. What is left of them goes to moved.
func (b *branch) meet(run []shock, dt float64) {
	base := len(b.moved)
	b.moved = append(b.moved, run...)
	last := len(b.reaches) - 1
	for {
		live := b.moved[base:]
		event, at := dt, -1
		catch := false
		speed := 0.0
		for i := len(live) - 1; i >= 0; i-- {
			s := &live[i]
			r := &b.reaches[s.reach]
			v := r.speed(s)
			if s.reach < last {
				if t := (r.end - s.at) / v; t < event || (t == event && at < 0) {
					event, at, catch = t, i, false
				}
			}
			if i < len(live)-1 && live[i+1].reach == s.reach && v > speed {
				if t := max(0, live[i+1].at-s.at) / (v - speed); t < event {
					event, at, catch = t, i, true
				}
			}
			speed = v
		}
		for i := range live {
			live[i].at += b.reaches[live[i].reach].speed(&live[i]) * event
		}
		dt -= event
		if at < 0 {
			return
		}
		s := &live[at]
		keep := true
		if catch {
			next := &live[at+1]
			next.up, next.upPow = s.up, s.upPow
			b.gone = max(b.gone, next.at)
			keep = !same(next.up, next.down)
			b.remove(base + at) // next has its place now
		} else {
			keep = b.enter(s, dt)
		}
		if !keep {
			b.remove(base + at)
		}
	}
}

func (b *branch) remove(i int) {
	copy(b.moved[i:], b.moved[i+1:])
	b.moved = b.moved[:len(b.moved)-1]
}
