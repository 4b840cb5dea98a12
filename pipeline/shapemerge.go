package pipeline

// merge adds to dst what src has seen. src stays as it is.
func (s *surveyor) merge(dst, src *shape) {
	if src.count == 0 {
		return
	}
	if dst.count == 0 {
		dst.first = src.first
	}
	if src.kinds[isArray] > 0 {
		if dst.kinds[isArray] == 0 || src.minItems < dst.minItems {
			dst.minItems = src.minItems
		}
		dst.maxLen = max(dst.maxLen, src.maxLen)
	}
	dst.count += src.count
	dst.bytes += src.bytes
	for k, n := range src.kinds {
		dst.kinds[k] += n
	}
	dst.members += src.members
	dst.owners += src.owners
	dst.innerMany += src.innerMany
	dst.numbers.merge(src.numbers)
	dst.dates.merge(src.dates)
	dst.values.merge(src.values, &s.values)
	below := func(dst **shape, src *shape) {
		if src == nil {
			return
		}
		if *dst == nil {
			*dst = s.new()
		}
		s.merge(*dst, src)
	}
	below(&dst.items, src.items)
	below(&dst.inner, src.inner)
	if src.rest != nil {
		// What a map has for fields is in its rest already.
		if dst.rest == nil {
			s.becomeMap(dst)
		}
		s.merge(dst.rest, src.rest)
		for k := range src.restKeys {
			dst.restKeys[k] = struct{}{}
		}
		for _, f := range src.fields {
			s.know(dst, f.name)
		}
		return
	}
	for _, f := range src.fields {
		// In a map the owners of a value are no longer told apart.
		s.merge(s.field(dst, f.name), f.shape)
	}
}

// merge is by Chan, Golub and LeVeque, "Updating formulae and a pairwise
// algorithm for computing sample variances", 1979.
func (s *numberStats) merge(o numberStats) {
	s.beyond += o.beyond
	if o.n == 0 {
		return
	}
	if s.n == 0 {
		o.beyond = s.beyond
		*s = o
		return
	}
	if less(o.min, o.minRaw, s.min, s.minRaw) {
		s.min, s.minRaw = o.min, o.minRaw
	}
	if less(s.max, s.maxRaw, o.max, o.maxRaw) {
		s.max, s.maxRaw = o.max, o.maxRaw
	}
	n, m := float64(s.n), float64(o.n)
	d := o.mean - s.mean
	s.mean += d * m / (n + m)
	s.m2 += o.m2 + d*d*n*m/(n+m)
	s.n += o.n
	s.rising = s.rising && o.rising && o.first > s.last
	s.last = o.last
}

func (d *dateRange) merge(o dateRange) {
	if o.n == 0 {
		return
	}
	n := d.n + o.n
	d.mixed = d.mixed || o.mixed
	d.add(o.min)
	d.add(o.max)
	d.n = n
}

func (d *distinct) merge(o distinct, held *int) {
	switch {
	case d.many:
		return
	case o.many:
		*held -= len(d.list)
		*d = distinct{many: true}
		return
	}
	for _, v := range o.list {
		d.add(v.raw, held)
		if d.many {
			return
		}
		d.list[d.at[string(v.raw)]].count += v.count - 1
	}
}
