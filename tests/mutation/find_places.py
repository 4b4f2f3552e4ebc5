# SPDX-License-Identifier: Apache-2.0
"""Finds the places of C++ sources where a small mistake could be, and writes the sources with all of those mistakes in them, each
asleep until mutants.h wakes it. Clang's syntax tree says where operators, their operands and constants begin and end."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

COMPARISONS = {
    # operator: (function of mutants.h, what it becomes, how its limit moves)
    "<": ("less", "<=", "- 1"),
    "<=": ("less_equal", "<", "+ 1"),
    ">": ("greater", ">=", "+ 1"),
    ">=": ("greater_equal", ">", "- 1"),
}
EQUALITIES = {"==": ("equal", "!="), "!=": ("not_equal", "==")}
LOGIC = {"&&": "||", "||": "&&"}
SUMS = {"+": ("plus", "-"), "-": ("minus", "+")}
EXTREMES = {"min": "max", "max": "min"}

WHOLE = re.compile(r"^(const )?((un)?signed )?(char|short|int|long|long long)$")
NUMBER = re.compile(r"^(const )?(((un)?signed )?(char|short|int|long|long long)|float|double)$")
VECTOR = re.compile(r"\bvector_size__\(")
# What is written before a loop that has to become as many copies of its body, as arrays of vectors need that are to be registers.
UNROLLED = re.compile(r"#pragma GCC unroll \d+\s*$")

# Where the language wants constants, or the compiler has written the code itself.
CONSTANT = {
    "AlignedAttr",
    "ClassTemplatePartialSpecializationDecl",
    "ClassTemplateSpecializationDecl",
    "ConceptDecl",
    "ConstantExpr",
    "CXXDefaultArgExpr",
    "CXXDefaultInitExpr",
    "CXXNoexceptExpr",
    "EnumConstantDecl",
    "LoopHintAttr",  # how often a loop is unrolled
    "FieldDecl",  # a default that constructors and readers overwrite
    "StaticAssertDecl",
    "TemplateArgument",
    "TypeAliasDecl",
    "TypeAliasTemplateDecl",
    "TypedefDecl",
    "UnaryExprOrTypeTraitExpr",
}
FUNCTIONS = {"FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXConversionDecl", "CXXDestructorDecl"}


@dataclass(frozen=True)
class Span:
    begin: int
    end: int


@dataclass
class Mutant:
    """One mistake: the text at `span` becomes `text`."""

    file: str
    function: str
    span: Span
    text: str
    id: int = 0


@dataclass
class Rewriting:
    """How a place is written so that its mutants can be woken: {0}, {1} stand for their numbers."""

    whole: Span
    before: str
    after: str
    token: Span | None = None  # what is replaced inside, by:
    between: str = ""


@dataclass
class Place:
    file: str
    mutants: list[Mutant]
    rewriting: Rewriting


def node_span(node: dict) -> Span | None:
    """Nothing where a macro is involved or the compiler made the node up."""
    begin, end = node.get("range", {}).get("begin", {}), node.get("range", {}).get("end", {})
    if "offset" not in begin or "offset" not in end:
        return None
    return Span(begin["offset"], end["offset"] + end["tokLen"])


def type_of(node: dict) -> str:
    kind = node.get("type", {})
    return kind.get("desugaredQualType", kind.get("qualType", ""))


def children(node: dict) -> list[dict]:
    return [child for child in node.get("inner", []) if child]


def callee(node: dict) -> dict:
    """What a call names, below the casts that are not in the source."""
    found = children(node)[0]
    while found["kind"] == "ImplicitCastExpr":
        found = children(found)[0]
    return found


def called_name(node: dict) -> str:
    named = callee(node)
    return named.get("referencedDecl", named).get("name", "")


class Finder:
    """Walks through the trees of translation units and collects the places in `sources`."""

    def __init__(self, sources: dict[str, str], root: Path):
        self.sources = sources
        self.root = root
        self.places: dict[tuple, Place] = {}
        self.file = ""  # of the location that was met last, then of the node that is looked at
        self.function = ""

    def read_tree(self, documents: Iterator[dict]) -> None:
        for document in documents:
            self.file = ""
            self.locate(document)
            self.visit(document)

    def locate(self, value: dict | list) -> None:
        """Gives every node its file. Clang prints it only where it differs from that of the location printed before."""
        if isinstance(value, list):
            for element in value:
                self.locate(element)
            return
        if "offset" in value and "file" in value:
            path = Path(value["file"])
            path = (path if path.is_absolute() else self.root / path).resolve()
            self.file = path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else ""
        for key, part in list(value.items()):
            if isinstance(part, (dict, list)):
                self.locate(part)
            if key == "range":
                value["in"] = self.file

    def visit(self, node: dict) -> None:
        kind = node.get("kind", "")
        if kind in CONSTANT or node.get("constexpr") or node.get("isImplicit"):
            return
        if kind == "CallExpr" and called_name(node) == "__builtin_prefetch":
            return  # its arguments are constants, and what it does changes no result
        inner = children(node)
        if kind == "FunctionTemplateDecl":
            # The template as it is written; its instances follow.
            inner = [child for child in inner if child["kind"] in FUNCTIONS][:1]
        if kind == "CXXRewrittenBinaryOperator":
            # a != b, which the language takes for !(a == b).
            while len(inner) == 1:
                inner = children(inner[0])
        if kind == "IfStmt" and node.get("isConstexpr"):
            inner = inner[-2 if node.get("hasElse") else -1 :]
        outside = self.function
        if kind in FUNCTIONS:
            self.function = node.get("name", outside)
        span = node_span(node)
        if span and node["in"] in self.sources:
            self.file = node["in"]
            self.mutate(node, kind, span, inner)
            if kind == "ForStmt" and UNROLLED.search(self.text(Span(0, span.begin))):
                inner = inner[-1:]
        for child in inner:
            self.visit(child)
        self.function = outside

    def text(self, span: Span) -> str:
        return self.sources[self.file][span.begin : span.end]

    def add(self, rewriting: Rewriting, *changes: tuple[Span, str]) -> None:
        """A tree has lambdas twice, and headers are in many trees: only the first counts."""
        mutants = [Mutant(self.file, self.function, *change) for change in changes]
        self.places.setdefault((self.file, rewriting.whole, rewriting.before), Place(self.file, mutants, rewriting))

    def mutate(self, node: dict, kind: str, span: Span, inner: list[dict]) -> None:
        if kind == "BinaryOperator":
            self.mutate_operator(node["opcode"], inner[0], inner[1], span, objects=False)
        elif kind == "CXXOperatorCallExpr" and len(inner) == 3:
            if (name := called_name(node)) in ("operator==", "operator!="):
                self.mutate_operator(name.removeprefix("operator"), inner[1], inner[2], span, objects=True)
        elif kind == "CXXRewrittenBinaryOperator" and len(inner) == 3:
            self.mutate_operator("!=", inner[1], inner[2], span, objects=True)
        elif kind == "UnaryOperator" and node["opcode"] == "!" and self.text(span)[0] == "!":
            self.add(Rewriting(span, "(::heed_mutation::on({0}) != ", ")"), (Span(span.begin, span.begin + 1), ""))
        elif kind in ("IntegerLiteral", "FloatingLiteral", "CXXBoolLiteralExpr"):
            if mutated := other_constant(kind, self.text(span)):
                self.add(Rewriting(span, "(::heed_mutation::on({0}) ? " + mutated + " : ", ")"), (span, mutated))
        elif kind == "CallExpr" and len(inner) == 3:
            self.mutate_extreme(callee(node), span)

    def mutate_operator(self, operator: str, left: dict, right: dict, span: Span, objects: bool) -> None:
        left_span, right_span = node_span(left), node_span(right)
        if left_span is None or right_span is None or left_span.end > right_span.begin:
            return
        gap = self.text(Span(left_span.end, right_span.begin))
        if gap.strip() != operator:
            return
        begin = left_span.end + gap.index(operator)
        token = Span(begin, begin + len(operator))
        types = (type_of(left), type_of(right))
        if operator in COMPARISONS and not objects:
            name, other, step = COMPARISONS[operator]
            changes = [(token, other)]
            if has_bound := all(map(WHOLE.match, types)):
                changes.append((right_span, f"{self.text(right_span)} {step}"))
            before = f"::heed_mutation::{name}({{0}}, {'{1}' if has_bound else '0'}, "
            self.add(Rewriting(span, before, ")", token, ","), *changes)
        elif operator in EQUALITIES:
            name, other = EQUALITIES[operator]
            before = f"::heed_mutation::{name}{'_objects' if objects else ''}({{0}}, "
            self.add(Rewriting(span, before, ")", token, ","), (token, other))
        elif operator in LOGIC:
            # De Morgan's law: a || b is !(!a && !b), and the other way round.
            woken = "::heed_mutation::on({0})"
            between = f") != {woken} {operator} bool("
            self.add(Rewriting(span, "((bool(", f") != {woken}) != {woken})", token, between), (token, LOGIC[operator]))
        elif operator in SUMS and (all(map(NUMBER.match, types)) or all(map(VECTOR.search, types))):
            name, other = SUMS[operator]
            self.add(Rewriting(span, f"::heed_mutation::{name}({{0}}, ", ")", token, ","), (token, other))

    def mutate_extreme(self, named: dict, span: Span) -> None:
        named_span = node_span(named)
        if named_span is None:
            return
        match = re.match(r"^std::(min|max)(<[\w:]+>)?$", self.text(named_span))
        token = Span(named_span.begin, named_span.end + 1)
        if match and self.text(token).endswith("("):
            name = Span(named_span.begin + len("std::"), named_span.begin + len("std::min"))
            called = f"::heed_mutation::{match[1]}{match[2] or ''}({{0}}, "
            self.add(Rewriting(span, "", "", token, called), (name, EXTREMES[match[1]]))


def other_constant(kind: str, text: str) -> str:
    if kind == "CXXBoolLiteralExpr":
        return {"true": "false", "false": "true"}.get(text, "")
    match = re.match(r"^([01])(\.0)?([uUlLfF]*)$", text)
    if match:
        return str(1 - int(match[1])) + (match[2] or "") + match[3]
    if not re.match(r"^[0-9]", text):
        return ""
    return f"({text} + 1)" if kind == "IntegerLiteral" else f"(2 * {text})"


def parse(compiler: str, flags: list[str], root: Path, file: str) -> Iterator[dict]:
    """The trees of what a file declares in namespace heed, or under a name that has heed in it."""
    command = [compiler, *flags, "-fsyntax-only", "-Xclang", "-ast-dump=json", "-Xclang", "-ast-dump-filter=heed", file]
    text = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    decoder = json.JSONDecoder()
    at = 0
    while (at := text.find("{", at)) >= 0:
        document, at = decoder.raw_decode(text, at)
        yield document


@cache
def read_source(path: Path) -> str:
    """Clang counts bytes: each becomes one character. What is read once stays as it was."""
    return path.read_text(encoding="latin-1")


def find_places(compiler: str, flags: list[str], root: Path, files: list[str], units: dict[str, list[str]]) -> list[Place]:
    """All places in `files`, in order; their mutants are numbered from 1. `units` are further translation units, with flags of their
    own, of which only the headers among `files` are looked at."""
    finder = Finder({file: read_source(root / file) for file in files}, root)
    for file in files:
        if file.endswith(".cc"):
            finder.read_tree(parse(compiler, flags, root, file))
    for file, more in units.items():
        finder.read_tree(parse(compiler, flags + more, root, file))
    places = sorted(finder.places.values(), key=lambda place: (place.file, place.rewriting.whole.begin, -place.rewriting.whole.end))
    for number, mutant in enumerate((mutant for place in places for mutant in place.mutants), 1):
        mutant.id = number
    return places


def rewrite(source: str, places: list[Place]) -> str:
    """The source with all of its places rewritten. No line moves."""
    edits = []  # (where, order among those at the same place, how much is replaced, by what)
    for place in places:
        numbers = [mutant.id for mutant in place.mutants]
        rewriting = place.rewriting
        whole = rewriting.whole
        # At one place inner expressions end before outer ones do, and outer ones begin before inner ones.
        edits.append((whole.begin, (1, -whole.end), 0, rewriting.before.format(*numbers)))
        edits.append((whole.end, (0, -whole.begin), 0, rewriting.after.format(*numbers)))
        if rewriting.token:
            length = rewriting.token.end - rewriting.token.begin
            edits.append((rewriting.token.begin, (2, 0), length, rewriting.between.format(*numbers)))
    pieces = []
    at = 0
    for begin, _, length, text in sorted(edits):
        pieces += [source[at:begin], text]
        at = begin + length
    return "".join(pieces) + source[at:]
