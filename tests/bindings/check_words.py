#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_words.py <root of the sources> <translated>

What Java and C# say for each sentence of docs/errors.md and docs/ascend.md, and for each piece of a sentence in the sources of core and
capi, by the program `translated`: none has a word of C's, and each entry of bindings/swig/words.c changes one of them. Nor has a sentence of
their own, which docs/exceptions.md lists. Words of Java and C# that stand for one of C's are in the sources of that language.
"""
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "errors"))
from source_texts import all_texts  # noqa: E402

from sources import texts_of  # noqa: E402

PAGES = ("docs/errors.md", "docs/ascend.md")
OWN_PAGE = "docs/exceptions.md"
LANGUAGES = ("java", "csharp")
CAPACITY = 1024

# Quoted names, which belong to the user. An apostrophe after a letter begins none.
QUOTATION = re.compile(r"""\"[^"]*\"|(?<!\w)'[^']*'""")
# Words of C: functions, types, constants, arguments and members of structs, and C's terms.
OF_C = re.compile(r"->|\b(?:\w+\.)*\w*_\w*(?:\.\w+)*|\b(?:NULL|dims)\b")
# Words that are right only in a sentence about a file, whose format uses them.
OF_FILES = re.compile(r"\b(?:tensors?|dtype|pointer|F32|F16|BF16|F64|I32|I64|I8|U8|BOOL)\b")
# Words with an underscore that are the same in every language.
OF_ALL = re.compile(
    r"HEED_ISA|HEED_PLUGIN_PATH"  # environment variables
    r"|W_[qkvo]\.(?:weight|bias)|cross_attention|class_token"  # names of parameters and of children
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
    "^->child": "the wrapper gives every child's name",
    "has no tensor, expected weights": "the wrapper refuses taps without arrays",
    "HEED_WANT_LOG_SUM_EXP (4) or both": "Taps refuse other outputs",
    "text and num_bytes": "the wrapper gives both",
    "num_bytes is": "the wrapper's functions for copies take the size from the array",
    "use heed_tensor_read": "data() gives null, and the arrays read otherwise",
    "heed_tensor_copy": "DLPack is not wrapped",
    "managed->dl_tensor": "DLPack is not wrapped",
    "^num_parts": "heed_attention_merge is not wrapped",
    "^log_sum_exp": "heed_attention_merge is not wrapped",
    "^output and log_sum_exp": "heed_attention_merge is not wrapped",
}

# Texts of the sources that are for the logger, which Java and C# do not have, or name a symbol; what initializes a struct; what always
# stands behind "options->biases"; options that the wrapper gives as 0 or 1; what always stands behind "options->".
NOT_PIECES = re.compile(
    r"heed_(?!cache_)\w+|heed_\w+: .*|HEED_\w+_INIT|HEED_OK|HEED_ERROR_\w+|HEED_BIAS_(?:ALL|NONE)|options->no_(?:bias|output_projection)|->norm"
)

# Kinds of layers, which sentences name.
KINDS = re.compile(r"(?:additive|dot_product|general|multi_head)_attention|layer_norm|feed_forward")

# Words that heed writes in the same way as both languages; no source needs to contain them.
VALUES = {"NaN", "Infinity"}

# How the table is applied: C's sentence, and those of Java and C#.
RULES = [
    ("options->num_heads is 0", "numHeads is 0", "NumHeads is 0"),
    ("scale is -nan, soft_cap -inf", "scale is NaN, soft_cap -Infinity", "scale is NaN, soft_cap -Infinity"),
    (
        "options->add_bias_kv is 1, but options->scoring is HEED_SCORING_ADDITIVE: expected 0",
        "addBiasKv is true, but scoring is Scoring.ADDITIVE: expected false",
        "AddBiasKv is true, but Scoring is Scoring.Additive: expected false",
    ),
    ("options->add_zero_attn is 1, but x", "addZeroAttn is true, but x", "AddZeroAttn is true, but x"),
    ("options->rope->no_rounding is set, but x", "rounding is false, but x", "Rounding is false, but x"),
    ("options->rope->no_rounding is 0, expected 1", "rounding is true, expected false", "Rounding is true, expected false"),
    ("options->rope->no_rounding is 1, expected 0", "rounding is false, expected true", "Rounding is false, expected true"),
    (
        "expected original_length 8, beta_fast 2, beta_slow 1, no_rounding 1, high_freq_factor 3 and the max_distance 9",
        "expected originalLength 8, betaFast 2, betaSlow 1, rounding false, highFreqFactor 3 and relativeBiasMaxDistance 9",
        "expected OriginalLength 8, BetaFast 2, BetaSlow 1, Rounding false, HighFreqFactor 3 and RelativeBiasMaxDistance 9",
    ),
    (
        "a positional_encoding layer reads inputs->queries, positions and query_offsets",
        "a PositionalEncoding block reads queries, positions and queryOffsets",
        "a PositionalEncoding block reads Queries, Positions and QueryOffsets",
    ),
    (
        "options->cross_attention->num_hiddens is 8, expected 4, as self_attention has",
        "numHiddens is 8, expected 4, as selfAttention has",
        "NumHiddens is 8, expected 4, as SelfAttention has",
    ),
    (
        "options->attention->no_output_projection is 1, expected 0: the output is added to rows of num_hiddens",
        "outputProjection is false, expected true: the output is added to rows of numHiddens",
        "OutputProjection is false, expected true: the output is added to rows of NumHiddens",
    ),
    (
        "inputs->cache is set, but an encoder_layer layer keeps no keys: expected NULL, or a decoder layer without cross attention",
        "cache is set, but a TransformerEncoderBlock keeps no keys: expected null, or a TransformerDecoderBlock without cross attention",
        "Cache is set, but a TransformerEncoderBlock keeps no keys: expected null, or a TransformerDecoderBlock without cross attention",
    ),
    ("the decoder_layer layer's cross attention", "the TransformerDecoderBlock's cross attention", "the TransformerDecoderBlock's cross attention"),
    ("an encoder layer and a decoder layer", "a TransformerEncoder and a TransformerDecoder", "a TransformerEncoder and a TransformerDecoder"),
    (
        "inputs->decoder->self_mask is set, but a layer_norm layer is no decoder; a decoder reads what is in inputs->decoder",
        "selfMask is set, but a LayerNorm block is no decoder; a decoder reads what is in selfValidLens, selfMask and selfBias",
        "SelfMask is set, but a LayerNorm block is no decoder; a decoder reads what is in SelfValidLens, SelfMask and SelfBias",
    ),
    (
        "options->layer->attention->rope->no_rounding is set, and options->layer->attention->biases HEED_BIAS_NONE",
        "layer.rounding is false, and no biases",
        "Layer.Rounding is false, and Layer.Biases Bias.None",
    ),
    (
        "options->output->size is 0, but options->decoder->output->size and options->positions->size are 1",
        "size is 0, but size and numHiddens are 1",
        "Size is 0, but Size and NumHiddens are 1",
    ),
    (
        "options->encoder->output is set, and options->output is set, but so is options->decoder->output: expected one",
        "the encoder's output is set, and output is set, but so is the decoder's output: expected one",
        "the encoder's Output is set, and Output is set, but so is the decoder's Output: expected one",
    ),
    (
        "options->encoder->embedding is set, options->decoder->embedding is set, but options->encoder->embedding->num_embeddings is 0",
        "the encoder's embedding is set, the decoder's embedding is set, but numEmbeddings is 0",
        "the encoder's Embedding is set, the decoder's Embedding is set, but NumEmbeddings is 0",
    ),
    (
        "options->layer->output_norms is 1, but options->norm_first is 0; options->no_first_norm is 1; options->output->tied is 1",
        "layer.outputNorms is true, but normFirst is false; noFirstNorm is true; tied is true",
        "Layer.OutputNorms is true, but NormFirst is false; NoFirstNorm is true; Tied is true",
    ),
    (
        "options->layer->dropout is 2, expected 0 to less than 1; options->decoder->layer->cross_attention is NULL",
        "layer.dropout is 2, expected 0 to less than 1; the decoder's layer.crossAttention is null",
        "Layer.Dropout is 2, expected 0 to less than 1; the decoder's Layer.CrossAttention is null",
    ),
    (
        "inputs->decoder->memory_cache->layer is 2, inputs->decoder->memory_cache->sequences[0] is 3 and inputs->decoder->memory_cache->cache that of "
        "inputs->cache",
        "memoryCacheLayer is 2, memorySequences[0] is 3 and memoryCache that of cache",
        "MemoryCacheLayer is 2, MemorySequences[0] is 3 and MemoryCache that of Cache",
    ),
    (
        "layer is a linear layer, layer is an additive_attention layer, layer is an encoder layer, layer is an encoder_layer layer without one size",
        "block is a linear block, block is an AdditiveAttention block, block is a TransformerEncoder, block is a TransformerEncoderBlock without one size",
        "block is a linear block, block is an AdditiveAttention block, block is a TransformerEncoder, block is a TransformerEncoderBlock without one size",
    ),
    (
        "expected a multi-head attention with scores by dot products, a decoder layer, a decoder or a transformer",
        "expected a MultiHeadAttention with scores by dot products, a TransformerDecoderBlock, a TransformerDecoder or a Transformer",
        "expected a MultiHeadAttention with scores by dot products, a TransformerDecoderBlock, a TransformerDecoder or a Transformer",
    ),
    (
        "a decoder layer without cross attention was to fill a cache, and a decoder_layer layer without cross attention was, but a transformer layer",
        "a TransformerDecoder without cross attention was to fill a cache, and a TransformerDecoderBlock without cross attention was, but a Transformer",
        "a TransformerDecoder without cross attention was to fill a cache, and a TransformerDecoderBlock without cross attention was, but a Transformer",
    ),
    (
        "inputs->training is 1, but inputs->decoder->memory_cache is set: expected 0, since caches have no gradients",
        "training is true, but memoryCache is set: expected false, since caches have no gradients",
        "Training is true, but MemoryCache is set: expected false, since caches have no gradients",
    ),
    ("outputs->taps[12]->log_sum_exp has dims (2)", "taps[12].logSumExp has shape (2)", "Taps[12].LogSumExp has shape (2)"),
    (
        "options->layers[1]->attention->no_output_projection is 1, expected 0: the output is added to rows, and options->layers[0] is NULL",
        "layers[1].outputProjection is false, expected true: the output is added to rows, and layers[0] is null",
        "Layers[1].OutputProjection is false, expected true: the output is added to rows, and Layers[0] is null",
    ),
    (
        "options->layers[1]->attention->num_hiddens is 6, options->layers[1]->norm_first 1",
        "layers[1].numHiddens is 6, layers[1].normFirst 1",
        "Layers[1].NumHiddens is 6, Layers[1].NormFirst 1",
    ),
    ("options->executor->parallel_for is x", "parallelFor is x", "ParallelFor is x"),
    ("heed_layer_load2 xheed_layer_load heed_layer_load", "heed_layer_load2 xheed_layer_load load", "heed_layer_load2 xheed_layer_load Load"),
    ('name is "options->num_heads NULL", not NULL', 'name is "options->num_heads NULL", not null', 'name is "options->num_heads NULL", not null'),
    ("heed's NULL is 'NULL', the inputs' NULL", "heed's null is 'NULL', the inputs' null", "heed's null is 'NULL', the inputs' null"),
    ('it is "NULL, and NULL', 'it is "null, and null', 'it is "null, and null'),
    ("tensor is F32, dims", "the array is FLOAT32, shape", "the array is Float32, shape"),
    ('"a": tensor is F32, dims', '"a": tensor is F32, shape', '"a": tensor is F32, shape'),
    ("", "", ""),
    ("x" * 2000, "x" * (CAPACITY - 1), "x" * (CAPACITY - 1)),
]


def sentences_of(page):
    """The sentences on a page, with and without a call."""
    return re.findall(r"^- \*\*(.*)\*\*<br>$", page, re.MULTILINE)


def pieces_of(root):
    """The texts of the sources that contain a word of C. One with -> before no name gets it from another text."""
    texts = {text.text for text in all_texts(root, ("core", "capi/src"))}
    found = [text for text in texts if re.search(r"->\w|\b(?:heed|HEED)_[A-Za-z]", text) or OF_FILES.fullmatch(text) or KINDS.fullmatch(text)]
    return sorted(text for text in found if "\n" not in text and not re.search(r"->(%s|$)", text) and not NOT_PIECES.fullmatch(text))


def has_part(sentence, part):
    return sentence.startswith(part[1:]) if part.startswith("^") else part in sentence


def is_said(sentence):
    return not any(has_part(sentence, part) for part in NOT_SAID)


def words_of_c(said, own):
    """The words of C that are left in a sentence of Java or C#, which has `own` words."""
    bare = QUOTATION.sub('""', said)
    found = [word for word in OF_C.findall(bare) if not OF_ALL.fullmatch(word) and word not in own]
    return found + ([] if said.startswith('"') else OF_FILES.findall(bare))


def own_words(entries):
    """The names in the words of the table: those with a capital letter, alone or after a dot."""
    return {name for entry in entries for name in re.findall(r"\b(?:\w+\.)?\w*[A-Z]\w*", entry)}


class Table:
    """The table of bindings/swig/words.c, read through the program that contains it."""

    def __init__(self, program):
        self.program = program

    def say(self, language, sentences, *left_out):
        command = [self.program, language, *map(str, left_out)]
        said = subprocess.run(command, input="".join(f"{sentence}\n" for sentence in sentences), capture_output=True, text=True, check=True)
        return said.stdout.split("\n")[:-1]


def faults_of_rules(table):
    for number, language in enumerate(LANGUAGES, 1):
        for rule, said in zip(RULES, table.say(language, [rule[0] for rule in RULES])):
            if said != rule[number]:
                yield f"{language} says '{said}' for '{rule[0]}', expected '{rule[number]}'"


def faults_of_words(table, entries, sentences):
    for number, language in enumerate(LANGUAGES, 1):
        own = own_words(entry[number] for entry in entries)
        for said in table.say(language, sentences):
            for word in words_of_c(said, own):
                yield f"{language} says C's '{word}' in: {said}"
            if len(said) >= CAPACITY - 1:
                yield f"{language} has no room for: {said}"


def faults_of_entries(table, entries, sentences):
    said = {language: table.say(language, sentences) for language in LANGUAGES}
    for number, entry in enumerate(entries):
        if all(table.say(language, sentences, number) == said[language] for language in LANGUAGES):
            yield f"words.c has '{entry[0]}', which changes no sentence: take it out"


def faults_of_names(table, entries, sentences, root):
    # Options that disable something have no entries of their own, since those of Java and C# enable it.
    members = sorted({member for sentence in sentences for member in re.findall(r"\b(?:options|inputs|outputs)->(?!no_)\w+", sentence)})
    for number, language in enumerate(LANGUAGES, 1):
        source = "\n".join(texts_of(root, language))
        said = own_words([*(entry[number] for entry in entries), *table.say(language, members)])
        for name in sorted(said - VALUES):
            if not re.search(rf"\b{name.rpartition('.')[2]}\b", source):
                yield f"{language} says '{name}', which is nowhere in its sources"


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
        reason = sentence.partition("would not take the fastest path: ")[2]
        for word in OF_C.findall(reason):
            yield f"explain() says C's '{word}' in: {reason}"


def main():
    root, table = Path(sys.argv[1]), Table(sys.argv[2])
    listed = [sentence for page in PAGES for sentence in sentences_of((root / page).read_text(encoding="utf-8"))]
    pieces = pieces_of(root)
    sentences = [sentence for sentence in [*listed, *pieces] if is_said(sentence)]
    words = (root / "bindings/swig/words.c").read_text(encoding="utf-8")
    entries = re.findall(r'^    WORDS\w*\("([^"]*)",\s+"([^"]*)",\s+"([^"]*)"\)', words, re.MULTILINE)
    faults = [
        *faults_of_rules(table),
        *faults_of_words(table, entries, sentences),
        *faults_of_entries(table, entries, [*sentences, *(rule[0] for rule in RULES)]),
        *faults_of_names(table, entries, sentences, root),
        *faults_of_reasons(listed),
        *faults_of_own((root / OWN_PAGE).read_text(encoding="utf-8")),
        *(f"no sentence has '{part}', which is said to be left out" for part in NOT_SAID if not any(has_part(text, part) for text in [*listed, *pieces])),
    ]
    if len(entries) != len(re.findall(r"^    WORDS", words, re.MULTILINE)) or not listed or not pieces:
        faults.append(f"{len(entries)} entries, {len(listed)} sentences and {len(pieces)} pieces found: not all were read")
    print(*faults, sep="\n", end="\n" if faults else "")
    if not faults:
        print(f"{len(sentences)} sentences and pieces, {len(entries)} entries")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
