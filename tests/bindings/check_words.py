#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_words.py <root of the sources> <said>...

What Java and C# say for each sentence that the lists of tests/errors and tests/ascend provoke, which those tests write to the files
`said`: none has a word of C's, and each entry of bindings/swig/terms.c is in one of them. No text of the sources of core and capi has a word
of C's outside of its terms (core/base/terms.h). Nor has a sentence of Java's and C#'s own, which docs/exceptions.md lists. Words of Java and
C# that stand for one of C's are in the sources of that language.
"""
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "errors"))
sys.path.insert(0, str(Path(__file__).parent.parent / "support"))
from reasons import read_entries  # noqa: E402
from source_texts import all_texts  # noqa: E402

from sources import texts_of  # noqa: E402

OWN_PAGE = "docs/exceptions.md"
LANGUAGES = ("java", "csharp")

# Quoted names, which belong to the user. An apostrophe after a letter begins none.
QUOTATION = re.compile(r"""\"[^"]*\"|(?<!\w)'[^']*'""")
# Words of C: functions, types, constants, arguments and members of structs, and C's terms.
OF_C = re.compile(r"->|\b(?:\w+\.)*\w*_\w*(?:\.\w+)*|\b(?:NULL|dims)\b")
# Words that are right only in a sentence about a file, whose format uses them.
OF_FILES = re.compile(r"\b(?:tensors?|dtype|pointer|F32|F16|BF16|F64|I32|I64|I8|U8|BOOL)\b")
# Words with an underscore that are the same in every language.
OF_ALL = re.compile(
    r"HEED_ISA|HEED_PLUGIN_PATH"  # environment variables
    r"|(?:\w+\.)*\w+\.(?:weight|bias)|bias_[kv]|cross_attention|class_token"  # names of parameters and of children
    r"|data_offsets|__metadata__|weight_map|model_type|fortran_order"  # fields of files
    r"|onnx\.numpy_helper\.to_array|safetensors\.(?:numpy|torch)\.save_file|libheed_ascend\.so|set_env\.sh"  # of Python; files
    r"|cxx_abi|ASCEND_\w+|ATB_HOME_PATH|Ascend910_93"  # options, variables and chips of Ascend
    r"|_ZN3atb\w+|other_abi|later_release|function_of_a_later_release"  # what the system's loader writes in parentheses
)

# Parts of sentences that no call of Java or C# can cause, and why; after ^ the beginning of one.
NOT_SAID = {
    "->struct_size": "the wrapper starts from the structs' own initializers",
    "->reserved": "the wrapper starts from the structs' own initializers",
    "options->allocator": "Java and C# have none",
    "options->executor": "Java and C# have none",
    "options->logger": "Java and C# have none",
    "->report": "CancellationException and OperationCanceledException say what has stopped the call",
    "outputs->num_taps": "the wrapper gives the array of taps and its size",
    "^tap->": "the wrapper makes a struct for each tap",
    "->child is NULL": "the wrapper gives every child's name",
    "has no tensor, expected weights": "the wrapper refuses taps without arrays",
    "HEED_WANT_LOG_SUM_EXP (4) or both": "Taps refuse other outputs",
    "text and num_bytes": "the wrapper gives both",
    "HEED_ELEMENTWISE_": "each function is a method",
    "tensors[": "the classes of Java and C# check the list",
    "^tensors is": "the classes of Java and C# check the list",
    "num_tensors": "the classes of Java and C# check the list",
    "those of the tensors, joined": "the classes of Java and C# check the list",
    "^function is": "each function is a method",
    "but function": "each function is a method",
    "HEED_COMPARE_": "each comparison is a method",
    "HEED_REDUCE_": "each reduction is a method",
    "num_bytes is": "the wrapper's functions for copies take the size from the array",
    "use heed_tensor_read": "data() gives null, and the arrays read otherwise",
    "heed_tensor_copy": "DLPack is not wrapped",
    "managed->dl_tensor": "DLPack is not wrapped",
    "^num_parts": "heed_attention_merge is not wrapped",
    "^log_sum_exp": "heed_attention_merge is not wrapped",
    "^output and log_sum_exp": "heed_attention_merge is not wrapped",
    "^parts[0] is NULL": "the classes of Java and C# make the parts of a step",
    "->gradients is NULL": "the classes of Java and C# make the parts of a step",
    "heed_gradients_": "tapes and optimizers of Java and C# make the sets of gradients, and make them anew where parameters are frozen",
    "^gradients->": "tapes make the arrays for gradients, of the inputs that have one",
    "outputs->saved": "tapes make a heed_saved for each forward, and check what it depends on",
    "heed_layer_backward": "backwards of tapes have no workspace of the caller's",
    "logits_gradient": "the losses of Java and C# make the array for the gradient",
    "predictions_gradient": "the losses of Java and C# make the array for the gradient",
    "^num_sets": "the optimizers of Java and C# give at least one set",
    "HEED_EPSILON_": "each class of optimizers has one placement",
}

# Texts of the sources that are no sentences, or that Java and C# do not have.
NOT_SENTENCES = (
    "core/families/",  # lists of model_types
    "core/tensor/dlpack.cc",  # DLPack is not wrapped
)
# Sources of sentences about files, which use the words of the file's format.
OF_FORMATS = ("core/tensor/safetensors_", "core/tensor/npy_", "core/tensor/file_kind.cc", "core/loading/", "core/models/", "core/cache/cache_file.cc")

# Words that heed writes in the same way as both languages; no source needs to contain them.
VALUES = {"NaN", "Infinity"}

def has_part(sentence, part):
    return sentence.startswith(part[1:]) if part.startswith("^") else part in sentence


def is_said(sentence):
    return not any(has_part(sentence, part) for part in NOT_SAID)


def words_of_c(said, own):
    """The words of C that are left in a sentence of Java or C#, which has `own` words."""
    bare = QUOTATION.sub('""', said)
    found = [word for word in OF_C.findall(bare) if not OF_ALL.fullmatch(word) and word not in own]
    return found + ([] if said.startswith('"') else OF_FILES.findall(bare))


def own_words(texts):
    """The names in texts: those with a capital letter, alone or after a dot."""
    return {name for text in texts for name in re.findall(r"\b(?:\w+\.)?\w*[A-Z]\w*", text)}


@dataclass
class Sentence:
    """A sentence in three languages, and its terms, as ("7", "dims")."""

    c: str
    java: str
    csharp: str
    terms: list[tuple[str, str]]


@dataclass
class Entry:
    """One of bindings/swig/terms.c."""

    role: str
    name: str
    java: str
    csharp: str

    def ends(self, path):
        return path == self.name or path.endswith(f"->{self.name}")

    def is_in(self, role, text):
        """Whether it is what is said for a term."""
        words = text.split(" ")
        if self.role == "OPTION":
            return role in ("OPTION", "MEMBER", "SETTING") and self.ends(words[0])
        if self.role != role:
            return self.role == "FLAG" and role == "SETTING" and self.ends(words[0])
        if role == "KIND":
            return self.name in (text.removeprefix("a ").removeprefix("an "), *words)
        return {"FLAG": words[0] == self.name, "SETTING": text.endswith(self.name)}.get(role, text == self.name)


def sentences_of(file):
    found = []
    for line in Path(file).read_text(encoding="utf-8").splitlines():
        c, java, csharp, terms = line.split("\t")
        found.append(Sentence(c, java, csharp, [tuple(term.split(":", 1)) for term in terms.split("\x1f") if term]))
    return found


def entries_of(root):
    """The entries, and the names of the enumerations by the prefixes of their constants."""
    table = (root / "bindings/swig/terms.c").read_text(encoding="utf-8")
    text = r'(?:"([^"]*)"|NULL)'
    entries = [Entry(*found) for found in re.findall(rf"^    TERM\((\w+), {text}, {text},\s+{text}\)", table, re.MULTILINE)]
    if len(entries) != len(re.findall(r"^    TERM\(", table, re.MULTILINE)):
        sys.exit("not all entries of terms.c were read")
    return entries, dict(re.findall(r'^    \{"(HEED_\w+)", "(\w+)"\},', table, re.MULTILINE))


def header_of(root):
    return (root / "capi/include/heed/heed.h").read_text(encoding="utf-8")


def roles_of(root):
    return {number: name for name, number in re.findall(r"HEED_ROLE_(\w+) = (\d+)", header_of(root))}


def constants_of(root, enumerations):
    """Those of Java, as Causal.TOP_LEFT."""
    return {f"{name}.{constant}" for prefix, name in enumerations.items() for constant in re.findall(rf"\b{prefix}([A-Z0-9_]+)\b", header_of(root))}


def faults_of_words(sentences, own):
    for sentence in sentences:
        for language in LANGUAGES:
            for word in words_of_c(getattr(sentence, language), own):
                yield f"{language} says C's '{word}' in: {getattr(sentence, language)}"


def faults_of_texts(root, texts):
    """Words of C's in the sources that are no terms."""
    no_errors = {(entry.file, text) for entry in read_entries(root / "tests/errors/not_errors.txt") for text in entry.texts("-")}
    for text in texts:
        is_sentence = " " in text.text.strip() and is_said(text.text) and not re.search(r"\b(?:asm\w*|static_assert)\(", text.before)
        if not is_sentence or text.file.startswith(NOT_SENTENCES) or (text.file, text.text.strip()) in no_errors:
            continue
        plain = QUOTATION.sub('""', text.plain)
        words = [word for word in OF_C.findall(plain) if not OF_ALL.fullmatch(word)]
        if not text.file.startswith(OF_FORMATS) and not plain.startswith('"'):
            words += OF_FILES.findall(plain)
        for word in words:
            yield f"{text.file}:{text.line} has C's '{word}' outside of a term: {text.text}"


def faults_of_entries(sentences, entries, roles, texts):
    terms = {(roles[number], text) for sentence in sentences for number, text in sentence.terms}
    # Not each term has a call that provokes it: those of a name that the caller sees are in the sources.
    words = {word for text in texts for word in re.findall(r"-?\w+", text.text)}
    for entry in entries:
        if not any(entry.is_in(*term) for term in terms) and entry.name.rpartition(">")[2].partition(" ")[0] not in words:
            yield f"terms.c has {entry.role} '{entry.name}', which no sentence says: take it out"


def faults_of_names(entries, root):
    for language in LANGUAGES:
        source = "\n".join(texts_of(root, language))
        said = own_words(getattr(entry, language) for entry in entries)
        for name in sorted(said - VALUES):
            if not re.search(rf"\b{name.rpartition('.')[2]}\b", source):
                yield f"{language} says '{name}', which is nowhere in its sources"


def faults_of_enumerations(root, enumerations):
    described = tomllib.loads((root / "bindings/described/enumerations.toml").read_text(encoding="utf-8"))
    for name, its in described.items():
        # The constants of two enumerations begin with HEED_CACHE_; those of CacheUse are entries. A status is not in a sentence.
        if enumerations.get(its["prefix"]) != name and name not in ("CacheUse", "Status"):
            yield f"terms.c calls the constants {its['prefix']}... {enumerations.get(its['prefix'])}, but they are those of {name}"


def faults_of_own(page):
    sentences = re.findall(r"^\| (.*) \| `\w+` \|$", page, re.MULTILINE)
    for sentence in sentences:
        for word in words_of_c(sentence, set()):
            yield f"{OWN_PAGE} has C's '{word}' in: {sentence}"
    if not sentences:
        yield f"{OWN_PAGE} has no sentences"


def faults_of_reasons(sentences):
    """explain() returns the reasons of NOT_FASTEST unchanged in every language."""
    for sentence in sentences:
        reason = sentence.c.partition("would not take the fastest path: ")[2]
        for word in OF_C.findall(reason):
            yield f"explain() says C's '{word}' in: {reason}"


def main():
    root = Path(sys.argv[1])
    all_said = [sentence for file in sys.argv[2:] for sentence in sentences_of(file)]
    sentences = [sentence for sentence in all_said if is_said(sentence.c)]
    texts = all_texts(root, ("core", "capi/src"))
    entries, enumerations = entries_of(root)
    own = own_words(said for entry in entries for said in (entry.java, entry.csharp)) | constants_of(root, enumerations)
    faults = [
        *faults_of_words(sentences, own),
        *faults_of_texts(root, texts),
        *faults_of_entries(all_said, entries, roles_of(root), texts),
        *faults_of_names(entries, root),
        *faults_of_enumerations(root, enumerations),
        *faults_of_reasons(all_said),
        *faults_of_own((root / OWN_PAGE).read_text(encoding="utf-8")),
        *(f"no sentence has '{part}', which is said to be left out" for part in NOT_SAID if not any(has_part(said, part) for said in [*(one.c for one in all_said), *(text.text for text in texts)])),
    ]
    if not all_said:
        faults.append("no sentences found")
    print(*faults, sep="\n", end="\n" if faults else "")
    if not faults:
        print(f"{len(sentences)} sentences, {len(entries)} entries")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
