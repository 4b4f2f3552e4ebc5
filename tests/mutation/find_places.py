# SPDX-License-Identifier: Apache-2.0
"""Finds the places in C++ sources where a small mistake is possible, and writes the sources with all these mutants
compiled in. Each is inactive until mutants.h activates it. Clang's syntax tree gives the positions of operators,
operands and constants."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from translation_units import pack  # noqa: E402

COMPARISONS = {
    # operator: (function of mutants.h, the operator it becomes, the change of its limit)
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
# The line before a loop that must be unrolled, so that arrays of vectors become registers.
UNROLLED = re.compile(r"#pragma GCC unroll \d+\s*$")

# Where the language requires constants, or the compiler has generated the code.
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
    "LoopHintAttr",  # the number of copies of a loop's body
    "FieldDecl",  # a default value that constructors and readers overwrite
    "ShuffleVectorExpr",  # its indices
    "StaticAssertDecl",
    "TemplateArgument",
    "TypeAliasDecl",
    "TypeAliasTemplateDecl",
    "TypedefDecl",
    "UnaryExprOrTypeTraitExpr",
}
# Calls of these are skipped, since their arguments must be constants. Only in a template is __builtin_shufflevector a call in clang's tree;
# elsewhere it is a ShuffleVectorExpr.
CONSTANT_ARGUMENTS = {"__builtin_prefetch", "__builtin_shufflevector"}
FUNCTIONS = {"FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXConversionDecl", "CXXDestructorDecl"}


@dataclass(frozen=True)
class Span:
    begin: int
    end: int


@dataclass
class Mutant:
    """One mutant: the text at `span` is replaced by `text`."""

    file: str
    function: str
    span: Span
    text: str
    id: int = 0


@dataclass
class Rewriting:
    """How a place is rewritten so that its mutants can be activated. {0} and {1} stand for their numbers."""

    whole: Span
    before: str
    after: str
    token: Span | None = None  # the text inside that is replaced by:
    between: str = ""


@dataclass
class Place:
    file: str
    mutants: list[Mutant]
    rewriting: Rewriting


def node_span(node: dict) -> Span | None:
    """The span of a node; nothing if a macro is involved, or if the compiler generated the node."""
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
    """The function that a call names, without casts that are not in the source."""
    found = children(node)[0]
    while found["kind"] == "ImplicitCastExpr":
        found = children(found)[0]
    return found


def called_name(node: dict) -> str:
    named = callee(node)
    return named.get("referencedDecl", named).get("name", "")


class Finder:
    """Walks through the trees of translation units, and collects the places in `sources`."""

    def __init__(self, sources: dict[str, str], root: Path):
        self.sources = sources
        self.root = root
        self.places: dict[tuple, Place] = {}
        self.file = ""  # of the last location that was read, then of the current node
        self.function = ""

    def read_tree(self, documents: Iterator[dict]) -> None:
        for document in documents:
            self.file = ""
            self.locate(document)
            self.visit(document)

    def locate(self, value: dict | list) -> None:
        """Sets the file of every node. Clang prints it only if it differs from that of the previous location."""
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
        if kind == "CallExpr" and called_name(node) in CONSTANT_ARGUMENTS:
            return
        inner = children(node)
        if kind == "FunctionTemplateDecl":
            # The template itself; its instances follow.
            inner = [child for child in inner if child["kind"] in FUNCTIONS][:1]
        if kind == "CXXRewrittenBinaryOperator":
            # a != b, which the language treats as !(a == b).
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
        """Adds mutants. Lambdas are in a tree twice, and headers in many trees: only the first occurrence counts."""
        mutants = [Mutant(self.file, self.function, *change) for change in changes]
        self.places.setdefault((self.file, rewriting.whole, rewriting.before), Place(self.file, mutants, rewriting))

    def mutate(self, node: dict, kind: str, span: Span, inner: list[dict]) -> None:
        if kind == "BinaryOperator":
            self.mutate_operator(node["opcode"], inner[0], inner[1], span, objects=False)
        elif kind == "CXXOperatorCallExpr" and len(inner) == 3:
            operator = called_name(node).removeprefix("operator")
            if operator in EQUALITIES:
                self.mutate_operator(operator, inner[1], inner[2], span, objects=True)
            elif operator in COMPARISONS and callee(node)["kind"] == "UnresolvedLookupExpr":
                # Operands whose types a template's arguments decide. Without an operator< of the unit itself it is a BinaryOperator.
                self.mutate_operator(operator, inner[1], inner[2], span, objects=False)
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
            # De Morgan's law: a || b is !(!a && !b), and vice versa.
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


def parse(compiler: str, flags: list[str], root: Path, files: list[str]) -> str:
    """The trees of the declarations in namespace heed, or with heed in their names, of one translation unit: several JSON documents."""
    dump = ["-Xclang", "-ast-dump=json", "-Xclang", "-ast-dump-filter=heed"]
    command = [compiler, *flags, "-I.", "-fsyntax-only", *dump, "-x", "c++", "-"]
    unit = "".join(f'#include "{file}"\n' for file in files)
    return subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True, input=unit).stdout


def documents(text: str) -> Iterator[dict]:
    """The JSON documents of which a text consists."""
    decoder = json.JSONDecoder()
    at = 0
    while (at := text.find("{", at)) >= 0:
        document, at = decoder.raw_decode(text, at)
        yield document


@cache
def read_source(path: Path) -> str:
    """Clang counts bytes, so each byte is read as one character. Files are read once and cached."""
    return path.read_text(encoding="latin-1")


def find_places(compiler: str, flags: list[str], root: Path, files: list[str], units: dict[str, list[str]]) -> list[Place]:
    """All places in `files`, in order; their mutants are numbered from 1. `units` are further translation units, with
    flags of their own, of which only headers among `files` are used."""
    finder = Finder({file: read_source(root / file) for file in files}, root)
    # Clang prints the headers' trees once for each unit, which takes most of the time.
    packed = pack({root / file: () for file in files if file.endswith(".cc")})
    parsed = [([str(source.relative_to(root)) for source in sources], flags) for sources, _ in packed]
    parsed += [([file], flags + more) for file, more in units.items()]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for text in pool.map(lambda each: parse(compiler, each[1], root, each[0]), parsed):
            finder.read_tree(documents(text))
    places = sorted(finder.places.values(), key=lambda place: (place.file, place.rewriting.whole.begin, -place.rewriting.whole.end))
    for number, mutant in enumerate((mutant for place in places for mutant in place.mutants), 1):
        mutant.id = number
    return places


def rewrite(source: str, places: list[Place]) -> str:
    """The source with all its places rewritten. Line numbers do not change."""
    edits = []  # (position, order among edits at the same position, length of the replaced text, new text)
    for place in places:
        numbers = [mutant.id for mutant in place.mutants]
        rewriting = place.rewriting
        whole = rewriting.whole
        # At the same position inner expressions end before outer ones, and outer expressions begin before inner ones.
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
