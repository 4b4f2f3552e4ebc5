# SPDX-License-Identifier: Apache-2.0
"""figures.py ROOT [--update]: the summaries in docs/performance.md of the figures in docs/figures. Without --update it compares the page with
them."""

import re
import sys
from pathlib import Path

PAGE = Path("docs/performance.md")
FIGURES = Path("docs/figures")

# Groups of cases, each with the pattern of their names.
ENGINE = [
    ("attention without a mask, F32", r"(bert|vit|s\d+_h|unet|whisper_encoder|odd_s\d{3}|odd_values)\w*"),
    ("causal attention, F32", r"(causal|gpt2|llama_prefill_s\d+$)\w*"),
    ("causal attention, keys and values F16", r"llama_prefill_s\d+_f16"),
    ("attention with lengths or a mask", r"(lens|mask)_\w+"),
    ("one query, a key head for each query head", r"decode_k\d+(_cold)?|whisper_cross_k1500"),
    ("one query, grouped heads, F32", r"decode_gqa_(b8_)?k\d+(_cold)?"),
    ("one query, keys and values F16", r"decode_(gqa_)?k\d+_f16_cold"),
    ("at most 33 rows", r"(tiny|odd)_s(1|7|16|32|33)(_\w+)?"),
    ("whole layer of multi-head attention", r"layer_b\w+"),
    ("projection of at least 128 rows", r"linear_m(128|512)_\d+"),
    ("projection of 1 row", r"linear_m1_\w+"),
    ("attention without a mask, AVX2 forced", r"(bert|s\d+_h)\w*/avx2"),
    ("causal attention, AVX2 forced", r"causal\w*/avx2"),
]
TRAINING = [
    ("attention, nothing hidden", r"backward_(s\d+|b8)\w*"),
    ("causal attention", r"backward_causal_\w+"),
    ("a projection's gradient by its input", r"backward_input_\w+"),
    ("a projection's gradient by its weight", r"backward_weight_\w+"),
    ("encoder layer of BERT base", r"train_encoder_\w+"),
]
MEASURES = {
    "peak": "share of the FMA peak",
    "read": "share of the read bandwidth",
    "ratio": "against the fastest peer, or a named one",
    "over": "against another case of heed",
    "threads": "two threads against one",
    "us": "time of the smallest layer",
    "mb": "memory",
    "wake": "a call after a pause",
    "idle": "processor time of waiting",
}


def rows_of(path: Path) -> list[dict[str, str]]:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    names = lines[0].split("\t")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines[1:]]


def span(values: list[float], places: int) -> str:
    low, high = f"{min(values):.{places}f}", f"{max(values):.{places}f}"
    return low if low == high else f"{low} to {high}"


def engine_summary(rows: list[dict[str, str]]) -> list[str]:
    lines = ["| cases | of meter, 1 thread | 2 threads | the fastest peer's time over heed's | that peer |", "|---|---|---|---|---|"]
    for title, pattern in ENGINE:
        chosen = [row for row in rows if re.fullmatch(pattern, row["case"])]
        if not chosen:
            sys.exit(f"no case of engine.tsv is in the group '{title}'")
        shares = [span([float(row["of meter"].rstrip(" %")) for row in chosen if row["threads"] == threads], 0) + " %" for threads in ("1", "2")]
        ratios = [float(row["ratio"]) for row in chosen if row["ratio"]]
        peers = sorted({row["fastest peer"] for row in chosen if row["ratio"]})
        lines.append(f"| {title} | {shares[0]} | {shares[1]} | {span(ratios, 2) if ratios else ''} | {', '.join(peers)} |")
    return lines


def targets_summary(rows: list[dict[str, str]]) -> list[str]:
    lines = ["| targets | met | of |", "|---|---|---|"]
    for measure, words in MEASURES.items():
        chosen = [row for row in rows if row["measure"].split(":")[0] == measure]
        if not chosen:
            sys.exit(f"no target of targets.tsv measures '{measure}'")
        num_met = sum(row["result"] != "missed" for row in chosen)
        lines.append(f"| {words} | {num_met} | {len(chosen)} |")
    return lines


def caches_summary(rows: list[dict[str, str]]) -> list[str]:
    lines = ["| case | its time over heed's, 1 thread | 2 threads | target |", "|---|---|---|---|"]
    for case in dict.fromkeys(row["case"] for row in rows):
        ratio = {row["threads"]: row["its time over heed's"] for row in rows if row["case"] == case}
        target = {row["threads"]: row["target"] for row in rows if row["case"] == case}
        words = ", ".join(f"{bound} with {threads} thread{'s' if threads == '2' else ''}" for threads, bound in target.items() if bound)
        lines.append(f"| `{case}` | {ratio.get('1', '')} | {ratio.get('2', '')} | {words} |")
    return lines


def training_summary(rows: list[dict[str, str]]) -> list[str]:
    lines = ["| cases | backward's share of the peak, 1 thread | 2 threads | its time over the forward's | both, 2 threads over 1 | PyTorch's time over that of both |", "|---|---|---|---|---|---|"]
    for title, pattern in TRAINING:
        chosen = [row for row in rows if re.fullmatch(pattern, row["case"])]
        if not chosen:
            sys.exit(f"no case of training.tsv is in the group '{title}'")
        shares = [span([float(row["share of peak"].rstrip(" %")) for row in chosen if row["threads"] == threads], 0) + " %" for threads in ("1", "2")]
        columns = ("over forward", "both over 1 thread", "its time over heed's")
        ratios = [span([float(row[column]) for row in chosen if row[column]], 2) for column in columns]
        lines.append(f"| {' | '.join([title, *shares, *ratios])} |")
    return lines


SUMMARIES = {"engine": engine_summary, "targets": targets_summary, "caches": caches_summary, "training": training_summary}


def with_summaries(root: Path, page: str) -> str:
    for name, summary in SUMMARIES.items():
        begin, end = f"<!-- From docs/figures/{name}.tsv -->\n", f"<!-- The end of {name} -->"
        if begin not in page or end not in page:
            sys.exit(f"{PAGE} has no place for {name}.tsv: expected lines {begin!r} and {end!r}")
        before, rest = page.split(begin, 1)
        page = before + begin + "\n".join(summary(rows_of(root / FIGURES / f"{name}.tsv"))) + "\n" + end + rest.split(end, 1)[1]
    return page


if __name__ == "__main__":
    top = Path(sys.argv[1])
    old = (top / PAGE).read_text(encoding="utf-8")
    new = with_summaries(top, old)
    if sys.argv[2:] == ["--update"]:
        (top / PAGE).write_text(new, encoding="utf-8")
    elif new != old:
        sys.exit(f"the summaries in {PAGE} are not those of {FIGURES}: python3 -B tests/structure/figures.py . --update writes them")
    print(f"{PAGE} says what {FIGURES} says")
