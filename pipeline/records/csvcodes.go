package records

import "strings"

// codes tells the columns of codes, whose cells only look like numbers: postal
// codes (01234), versions (1.9 and 1.10), hashes (12e5). A number that is written
// so in some cells and otherwise in others would not equal itself.
type codes [maxColumns]struct {
	is bool
	// Digits behind the point: the fewest of a cell that has any, and the most of
	// one that ends in a zero, from two on.
	fewest, zeros int
}

const digits = "0123456789"

// see takes a cell of column i into account.
func (c *codes) see(i int, cell string) {
	column := &c[i]
	whole := len(cell) - len(strings.TrimLeft(cell, digits))
	switch {
	case column.is || cell == "":
	case whole == len(cell):
		column.is = len(cell) > 1 && cell[0] == '0'
	case whole+1 == len(cell) || strings.Trim(cell[whole+1:], digits) != "":
		// what follows the first digits is not one point or e with digits behind it
	case cell[whole] == 'e':
		// Nobody writes a number as 12e5 who has no point or sign.
		column.is = whole > 0
	case cell[whole] == '.':
		n := len(cell) - whole - 1
		if column.fewest == 0 || n < column.fewest {
			column.fewest = n
		}
		if n > 1 && strings.HasSuffix(cell, "0") {
			column.zeros = max(column.zeros, n)
		}
		column.is = column.zeros > column.fewest
	}
}
