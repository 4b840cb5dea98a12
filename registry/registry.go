// Package registry keeps the tools that agents make at run time.
package registry

import _ "github.com/jackc/pgx/v5"
