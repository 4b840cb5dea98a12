package digest

import (
	"bytes"
	"regexp"
	"strings"
)

// A language has lines that few others have. The first in the list with most
// such lines is the guess; it is told to the agent and chooses what counts as
// a definition in the languages that need it.
type language struct {
	name string
	line ownLine
}

// An ownLine knows lines by how they begin, or by what is inside of them, which it
// looks for only where one of has is.
type ownLine struct {
	begin, inside func() *regexp.Regexp
	has           []string
}

func begins(expr string) ownLine { return ownLine{begin: anchored(expr)} }

// anchored is lazy for an expression whose alternatives all begin with ^: regexp
// tries it at the begin of a line alone only if it is told so in front.
func anchored(expr string) func() *regexp.Regexp { return lazy(`^(?:` + expr + `)`) }

func (o ownLine) or(expr string, has ...string) ownLine {
	o.inside, o.has = lazy(expr), has
	return o
}

func (o ownLine) match(line []byte) bool {
	if o.begin().Match(line) {
		return true
	}
	for _, s := range o.has {
		if bytes.Contains(line, []byte(s)) {
			return o.inside().Match(line)
		}
	}
	return false
}

var languages = []language{
	{"Go", begins(`^package \w+\s*$|^func (\([^)]*\) )?\w+[\[(]|^import \($|^type \w+ (struct|interface|func|\w+$)|^\t+(if|for) .*\{$|^\t+return\b|^\t"[\w./-]+"$`).or(`:= `, ":= ")},
	{"TypeScript", begins(`^\s*(export )?(declare )?(interface|type|enum|namespace|abstract class) \w+.*[{=]|^import type |^\s*(private|public|readonly) \w+(\?)?:|^import .* from ['"].*;$|^\s*\w+\??: .*;$`).or(`: (string|number|boolean|void|any|unknown)(\[\])?\s*[;,)=|{]`, ": ")},
	{"JavaScript", begins(`^\s*(const|let|var) [\w{\[][^=]*= |^\s*(export )?(default )?(async )?function\b|^\s*import .* from ['"]|^['"]use strict['"]`).or(`=> ?[{(]|require\(['"]|module\.exports|===|console\.\w+\(`, "=>", "require(", "module.exports", "===", "console.")},
	{"Python", begins(`^\s*(async )?def \w+\(|^\s*class \w+(\(.*\))?:|^from [\w.]+ import |^import \w+(\.\w+)*( as \w+)?$|^\s*(if|elif|for|while|with|except|try|else)\b.*:$|^\s*(self\.|return\b[^;]*$|raise |@\w+|print\()`)},
	{"Java", begins(`^import (static )?[\w.]+(\.\*)?;|^package [\w.]+;|^\s*(public|private|protected) .*[{;(,]$|^\s*@(Override|Test|Autowired|Nullable)|^\s*(final )?[A-Z]\w*(<.*>)? \w+ = `).or(`System\.out\.`, "System.out.")},
	{"C#", begins(`^using [\w.]+;|^namespace [\w.]+|^\s*(public|private|internal|protected) .*$`).or(`\{ get;`, "{ get;")},
	{"C or C++", begins(`^\s*#\s*(include|define|ifn?def|endif|pragma|if|else)\b|^(static |inline |const |unsigned |struct )*(int|void|char|double|bool|size_t|uint\d+_t|float|long)\b.*[({;]|^template ?<|^\w+::\w+|^typedef `).or(`std::|->\w+`, "std::", "->")},
	{"Rust", begins(`^\s*(pub(\(\w+\))? )?(fn|struct|enum|trait|impl|mod|use) .*|^\s*let (mut )?\w+|^#!?\[`).or(`-> (Result|Option|Self|&|\w+ \{)|\bmatch .*\{$|::\w+\(|&mut |&self`, "-> ", "match ", "::", "&mut ", "&self")},
	{"Ruby", begins(`^\s*(def [\w.?!=]+|end$|module [A-Z]|class [A-Z]\w*( < .*)?$|require(_relative)? ['"]|attr_\w+ :|include [A-Z]|elsif |unless )|^\s*@\w+ = `).or(`\bdo( \|.*\|)?$`, "do")},
	{"PHP", begins(`^<\?php|^\s*(public|private|protected)? ?(static )?function \w+\(|^use [\w\\]+;|^namespace [\w\\]+;`).or(`\$\w+ = |\$this->`, "$")},
	{"SQL", begins(`(?i)^\s*(select\b|insert into |update \w+ set|delete from|create (or replace |unique |temp )*(table|view|index|function|procedure|schema|trigger|database)|alter table|drop |from \w+|(left |inner |right |outer )*join |where |group by|order by|primary key|foreign key|values\b|begin;|commit;)|^\s*["\x60]?\w+["\x60]? (int|integer|bigint|serial|varchar|text|timestamp|boolean|numeric|date|char|uuid|json)\b`)},
	{"shell", begins(`^#!.*\b(ba|z|da|k)?sh\b|^\s*(if \[|if !|fi$|fi;|done\b|do$|then$|esac$|elif \[|else$|case .* in$|echo |export \w+=|set -\w|local \w+|exit \d|source |cd |mkdir |rm |cp |sudo |apt|curl |docker |git )|^\s*\w+=("|\$|\w)|^\w+\(\) ?\{`).or(`; (then|do)$|\$\{?\w+`, "; ", "$")},
	{"CSS", begins(`^\s*[.#@:*&\w][^;{}]*\{\s*$|^\s*[\w-]+:\s*[^;{}]+;$|^@(media|import|font-face|keyframes)`)},
	{"Makefile", begins(`^[\w./%$()-]+( [\w./%$()-]+)*\s*:($|[^=/]*$)|^\.PHONY|^\t[@-]?\$\(|^[A-Z_]+\s*[:?+]?=|^(ifeq|ifneq|endif|include|define)\b`).or(`\$[({@<^]`, "$")},
	{"Kotlin", begins(`^\s*(override |private |internal |suspend |data |open )*(fun|val|var|class|object) \w+.*[{=:)]|^import [\w.]+$`).or(`\?\.|\bwhen \(`, "?.", "when (")},
	{"Swift", begins(`^\s*(public |private |override |static )*func \w+.*(->|\{)|^import (Foundation|UIKit|SwiftUI)`).or(`\bguard let |\bif let `, "guard let ", "if let ")},
	{"Lua", begins(`^\s*(local (function )?\w+|function [\w.:]+\(|end\)?,?$|elseif .* then|if .* then$)`).or(`\.\. `, ".. ")},
	{"Perl", begins(`^use (strict|warnings|[A-Z][\w:]*)\b.*;|^\s*sub \w+|^\s*(my|our|local) [$@%(]|^package [\w:]+;|^=(head\d|pod|cut|item|over|back)\b`).or(`\$\w+->`, "$")},
	{"assembly", begins(`^TEXT |^\s+(MOV|ADD|SUB|CMP|TEST|J[A-Z]{1,3}|CALL|RET|PUSH|POP|LEA|XOR|AND|B[A-Z]{0,2}|mov|add|sub|cmp|call|ret|push|pop|lea|xor)\w*\s|^\s*\.(globl|text|section|type|size|align)\b`)},
	{"Dockerfile", begins(`^(FROM|RUN|COPY|ADD|ENV|WORKDIR|CMD|ENTRYPOINT|EXPOSE|ARG|LABEL|USER|VOLUME|HEALTHCHECK)\b`)},
	{"Elixir", begins(`^\s*(defmodule|defp?|use|alias|import) [\w.]+.*( do|,|$)|^\s*end$`).or(`\|> `, "|> ")},
	{"Terraform", begins(`^(resource|variable|output|module|provider|data|locals|terraform)\b.*\{$|^\s+\w+\s+= `)},
	{"GraphQL or protobuf", begins(`^(type|input|enum|interface|query|mutation|message|service|schema|syntax|extend)\b.*[{;]$|^\s+(rpc|repeated|optional|string|int32|int64|bool) |^\s+\w+(\(.*\))?: \[?\w+!?\]?!?$`)},
}

// plainCode are lines at the margin that only a program has.
var plainCode = anchored(`^package \w+( // import .*)?$|^import (\(|")|^func (\([^)]*\) )?\w+(\[.*\])?\(|^type \w+(\[.*\])? (struct|interface|func|map)\b|^(var|const) (\($|\w+ .*= )` + // Go
	`|^from [\w.]+ import [\w(*]|^import \w+(\.\w+)*( as \w+)?(, \w+)*$|^(async )?def \w+\(|^class \w+(\(.*\))?:|^@\w+(\.\w+)*(\(.*)?$|^if __name__ == |^__\w+__ = ` + // Python
	`|^export (default |declare |async |abstract )*(const|let|var|function|class|interface|type|enum|namespace|=|\{|\*)|^import .*['"];?$|^\} from ['"]|^(const|let|var) [\w{\[$].* = |^(async )?function\*? ?\w*\(|^(module\.)?exports\b.* = |^['"]use strict['"]|^declare (const|function|class|module|namespace|global|type|interface)\b` + // JavaScript
	`|^#(include|define|ifn?def|if|endif|pragma|undef|else)\b|^using namespace |^template ?<|^typedef |^extern "C"|^(static|struct|enum|union|namespace|class) .*[{;,(]$` + // C and C++
	`|^(pub(\(.*\))? )?(fn|struct|enum|mod|trait|impl|use)\b.*[{;(]$|^#!?\[\w+` + // Rust
	`|^(import( static)?|package) [\w.*]+;$|^(public |final |abstract )*(class|interface|enum|record|@interface) \w+.*\{$|^using [\w.]+;$` + // Java, C#
	`|^require(_relative)? ['"]|^(module|class) [A-Z][\w:]*( < [A-Z][\w:]*)?$|^\s*def (self\.)?\w+[?!=]?(\(.*\))?$` + // Ruby
	`|^use (strict|warnings|[A-Z][\w:]*)\b.*;|^sub \w+|^(my|our) [$@%]|^package [\w:]+;|^=(head1|pod|cut)\b` + // Perl
	`|^(CREATE (TABLE|OR REPLACE|INDEX|VIEW|FUNCTION|UNIQUE|DATABASE|SCHEMA)|INSERT INTO|ALTER TABLE|DROP TABLE|create table|insert into) ` + // SQL
	`|^TEXT ·|^\.(globl|text|section)\b`) // assembly

// codeBegins has the first bytes of such lines.
const codeBegins = "piftvcad@_e}lm'\"#unsro=CIADT."

// isPlainCode looks at the begin of a line before plainCode does, whose
// alternatives are many.
func isPlainCode(line []byte) bool {
	if len(line) == 0 {
		return false
	}
	switch line[0] {
	case ' ', '\t', '\n', '\f', '\r': // \s
		if !hasPrefix(bytes.TrimLeft(line, " \t\n\f\r"), "def ") {
			return false
		}
	default:
		if strings.IndexByte(codeBegins, line[0]) < 0 {
			return false
		}
	}
	return plainCode().Match(line[:min(len(line), 200)])
}

// guessCode wants two such lines, or one at the begin. Markdown has its code
// between fences.
func guessCode(s *sniffed) string {
	if s.begins("<?php", "/*", "#!/") {
		return "source"
	}
	if s.begins("<") {
		return ""
	}
	n, fenced, last := 0, false, false
	for i, line := range s.lines {
		switch {
		case hasPrefix(line, "\ufeff"):
			line = line[3:]
		case hasPrefix(line, "```"), hasPrefix(line, "~~~"):
			fenced = !fenced
			if fenced && n < 2 {
				return ""
			}
		}
		if !fenced && isPlainCode(line) {
			n++
			last = last || i == 0
		}
	}
	if n > 1 || last && n > 0 && s.full > 2 {
		return "source"
	}
	return ""
}

// codeLine is a line that most languages with braces could have.
var codeLine = lazy(`^\s*(func|def|class|import|package|from|public|private|protected|static|const|let|var|type|interface|export|#include|#define|fn|impl|use|using|struct|return|if|for|while|switch|case|else|try|catch|namespace|enum)\b.*([{};:(),\[\\=]|\w['"]?|\*)\s*$|[{};]\s*$|^\s*(//|/\*|\*/|\*( |$)|[})\]]+[;,)]*\s*$)|^\s*[\w.]+\([^)]*\);?$`)

const langLines = 120 // lines in which languages are looked for

// guessSource wants code on three of ten lines, or a line in two that one
// language alone has.
func guessSource(s *sniffed) string {
	if best, n := s.language(); best != nil {
		lines := min(s.full, langLines)
		prose := s.count(sentence)
		if 100*n >= 45*lines && (n > 1 || s.full == 1) && 4*prose < s.full && best.own(s) {
			return "source"
		}
		code := s.count(codeLine().Match)
		if s.most(code, 30) && 2*prose < code+n && (n > 0 || s.most(code, 60)) {
			return "source"
		}
	}
	return ""
}

// language returns the language with most lines of its own.
func (s *sniffed) language() (best *language, most int) {
	const enough = 160 // bytes of a line
	var lines [][]byte
	for _, line := range s.lines {
		if len(bytes.TrimSpace(line)) > 0 {
			lines = append(lines, line[:min(len(line), enough)])
		}
		if len(lines) == langLines {
			break
		}
	}
	for i := range languages {
		n := 0
		for j, line := range lines {
			if best != nil && n+len(lines)-j <= most {
				break // it cannot have more
			}
			if languages[i].line.match(line) {
				n++
			}
		}
		if best == nil || n > most {
			best, most = &languages[i], n
		}
	}
	return best, most
}

// own reports that more than one line shows the language, other than the
// lines that prose or a list could have: "name: words", "x:".
func (l *language) own(s *sniffed) bool {
	if l.name != "Makefile" && l.name != "CSS" {
		return true
	}
	return s.count(func(line []byte) bool {
		return len(line) > 1 && (line[0] == '\t' || bytes.ContainsAny(line, "{}$=") || hasPrefix(line, ".PHONY"))
	}) > 1
}
