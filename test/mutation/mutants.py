"""The changes that are made, one at a time, to a line of Lua or C++.

A change is made to code as text, outside of comments and strings. What does not compile any more is
no mutant; who runs it finds that out.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    file: str
    line: int  # from 0
    before: str
    after: str

    def text(self):
        """A line that identifies the change, also when the lines around it are others."""
        return f"{self.file}\t{self.before.strip()}\t{self.after.strip()}"

    def __str__(self):
        return f"{self.file}:{self.line + 1}\n- {self.before.strip()}\n+ {self.after.strip()}"


# Operators stand between spaces, which tells them from templates and from signs.
FLIPS = {
    "<": ["<="], "<=": ["<"], ">": [">="], ">=": [">"],
    "+": ["-"], "-": ["+"], "*": ["+"], "/": ["*"], "%": ["/"],
    "==": ["!=", "~="], "!=": ["=="], "~=": ["=="],
    "&&": ["||"], "||": ["&&"], "and": ["or"], "or": ["and"],
}
WORDS = {
    "true": "false", "false": "true", "floor": "ceil", "ceil": "floor", "min": "max", "max": "min",
    "floor_div": "ceil_div", "ceil_div": "floor_div",
}
# What a name in front of brackets means nothing for: the order of these arguments is free.
UNORDERED = {"min", "max", "if", "while", "for", "switch", "function", "ipairs", "unpack", "band", "bor",
             "has_all"}


# What a function is declared with: a type and a name.
PARAMETER = re.compile(r"(const )?[\w:]+(<[\w: ]+>)?[&*]? \w+")


def code_of(line, lua):
    """The line with comments and strings blanked, in the same length."""
    blank = lambda found: " " * len(found.group())
    line = re.sub(r"'[^']*'" if lua else r'"[^"]*"', blank, line)
    if not lua:
        line = re.sub(r"/\*.*?\*/", blank, line)
    return re.sub(r"--.*" if lua else r"//.*", blank, line)


def arguments(code, opening):
    """The places of the arguments in the brackets that open there, and of the end."""
    depth, start, places = 0, opening + 1, []
    for i in range(opening, len(code)):
        if code[i] in "([{":
            depth += 1
        elif code[i] in ")]}":
            depth -= 1
        if depth == 0:
            return places + [(start, i)], i + 1
        if code[i] == "," and depth == 1:
            places.append((start, i))
            start = i + 1
    return None, None  # they go on in the next line


def is_statement(code, before, lua):
    """Whether a line is a whole statement that something else can do without."""
    text = code.strip()
    if lua:
        continues = re.search(r"(=|,|\(|\{|\band|\bor|\.\.|[-+*/])$", before.strip())
        whole = re.fullmatch(r"[\w.\[\], +*#-]+ = .*[^,(={+*/-]|[\w.]+\([^=]*\)", text)
        return bool(whole) and not continues and not text.startswith(("local ", "for ", "return"))\
            and text.count("(") == text.count(")") and text.count("{") == text.count("}")\
            and not re.search(r"\b(and|or|then|do|function)$", text)
    continues = not re.search(r"([;{}:)]|else)$|^$", before.strip())
    whole = re.fullmatch(r"(\(void\))?[\w.:\[\]>*-]+(\([^=]*\)| ([-+|^*]|>>|<<)?= .*);|\+\+\w+;", text)
    return bool(whole) and not continues


def changes(line, before, lua):
    """All that a line can be changed into."""
    code = code_of(line, lua)
    made = lambda start, end, text: line[:start] + text + line[end:]
    for found in re.finditer(r"(?<= )(<=|>=|==|~=|!=|&&|\|\||<|>|\+|-|\*|/|%|and|or)(?= |$)", code):
        for other in FLIPS[found.group()]:
            if other != ("!=" if lua else "~="):
                yield made(*found.span(), other)
    for found in re.finditer(r"\b[a-z_]+\b", code):
        other = WORDS.get(found.group())
        if other and (found.group() in ("true", "false") or code[found.end():found.end() + 1] in "(<"):
            yield made(*found.span(), other)
    for found in re.finditer(r"\bnot |!(?=[\w(])", code):
        yield made(*found.span(), "")
    for found in re.finditer(r"(?<![\w.'])\d[\d']*(?![\w.'])", code):
        yield made(*found.span(), str(int(found.group().replace("'", "")) + 1))
    for found in re.finditer(r"\b([A-Za-z_]\w*)(?:<[\w:]+>)?\(", code):
        places, end = arguments(code, found.end() - 1)
        if not places or len(places) < 2:
            continue
        first, second = ([line[a:b].strip() for a, b in places])[:2]
        name = found.group(1)
        if name in ("min", "max"):  # a clamp is dropped
            start = found.start() - (5 if code[:found.start()].endswith("std::") else 0)
            for one in (first, second):
                yield made(start, end, f"({one})")
        elif PARAMETER.fullmatch(first) and code.rstrip().endswith(";"):
            continue  # a declaration: its names are for readers
        elif name not in UNORDERED and first != second and "function" not in code:
            yield made(places[0][0], places[1][1], f"{second}, {first}")
    if is_statement(code, before, lua):
        yield re.match(r"\s*", line).group() + ("" if lua else ";")


def is_lua(file):
    return file.endswith((".lua", ".lua.in"))


def mutants_of(file, text):
    lua = is_lua(file)
    before = ""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        code = code_of(line, lua)
        # An assertion has no effect in a program that keeps it: a weaker one cannot be noticed.
        if not lua and re.match(r"\s*(#|static_assert|BOOST_ASSERT|namespace |using |template)", code):
            before = code
            continue
        seen = {line}
        for after in changes(line, before, lua):
            if after not in seen:
                seen.add(after)
                yield Mutant(file, number, line, after)
        if code.strip():
            before = code
