package script

import _ "github.com/dop251/goja"
