package schema

// OnlyJSON reports that every value is a string that holds JSON, or null.
func (sh *Node) OnlyJSON() bool {
	return sh.Inner != nil && sh.innerMany == sh.Kinds[isString] && sh.innerMany+sh.Kinds[isNull] == sh.Count
}

// Flat reports that all records are objects without objects or arrays inside.
func (l List) Flat() bool {
	if l.Elem == nil || l.Elem.Kinds[IsObject] < l.Elem.Count || l.Elem.Rest != nil {
		return false
	}
	for _, f := range l.Elem.Fields {
		if f.Node.Kinds[IsObject]+f.Node.Kinds[IsArray] > 0 {
			return false
		}
	}
	return true
}
