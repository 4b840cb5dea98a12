package schema

// merge adds to dst what src has seen. src stays as it is.
func (s *surveyor) merge(dst, src *Node) {
	if src.Count == 0 {
		return
	}
	if dst.Count == 0 {
		dst.first = src.first
	}
	if src.Kinds[IsArray] > 0 {
		if dst.Kinds[IsArray] == 0 || src.minItems < dst.minItems {
			dst.minItems = src.minItems
		}
		dst.MaxLen = max(dst.MaxLen, src.MaxLen)
	}
	dst.Count += src.Count
	dst.Bytes += src.Bytes
	for k, n := range src.Kinds {
		dst.Kinds[k] += n
	}
	dst.Members += src.Members
	dst.Owners += src.Owners
	dst.innerMany += src.innerMany
	dst.Numbers.merge(src.Numbers)
	dst.dates.merge(src.dates)
	dst.Values.merge(src.Values, &s.values)
	below := func(dst **Node, src *Node) {
		if src == nil {
			return
		}
		if *dst == nil {
			*dst = s.new()
		}
		s.merge(*dst, src)
	}
	below(&dst.Items, src.Items)
	below(&dst.Inner, src.Inner)
	if src.Rest != nil {
		// What a map has for fields is in its rest already.
		if dst.Rest == nil {
			s.becomeMap(dst)
		}
		s.merge(dst.Rest, src.Rest)
		for k := range src.restKeys {
			dst.restKeys[k] = struct{}{}
		}
		for _, f := range src.Fields {
			s.know(dst, f.Name)
		}
		return
	}
	for _, f := range src.Fields {
		// In a map the owners of a value are no longer told apart.
		s.merge(s.field(dst, f.Name), f.Node)
	}
}

// merge is by Chan, Golub and LeVeque, "Updating formulae and a pairwise
// algorithm for computing sample variances", 1979.
func (s *numberStats) merge(o numberStats) {
	s.beyond += o.beyond
	if o.N == 0 {
		return
	}
	if s.N == 0 {
		o.beyond = s.beyond
		*s = o
		return
	}
	if less(o.Min, o.minRaw, s.Min, s.minRaw) {
		s.Min, s.minRaw = o.Min, o.minRaw
	}
	if less(s.Max, s.maxRaw, o.Max, o.maxRaw) {
		s.Max, s.maxRaw = o.Max, o.maxRaw
	}
	n, m := float64(s.N), float64(o.N)
	d := o.mean - s.mean
	s.mean += d * m / (n + m)
	s.m2 += o.m2 + d*d*n*m/(n+m)
	s.N += o.N
	s.Rising = s.Rising && o.Rising && o.first > s.last
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
		*held -= len(d.List)
		*d = distinct{many: true}
		return
	}
	for _, v := range o.List {
		d.add(v.raw, held)
		if d.many {
			return
		}
		d.List[d.at[string(v.raw)]].count += v.count - 1
	}
}
