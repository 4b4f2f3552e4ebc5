#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py [--json OUT] TARGETS FILE...: Markdown tables of what attention_bench --json, load_cost, weight_cost,
cache_steps and array_cost wrote to FILEs, compared with the targets; with --json it also writes all of it into one file."""
import json
import sys
from pathlib import Path

SECONDS = "seconds of "
RATIO = "ratio to "
# The measures whose targets are upper limits.
AT_MOST = ("us", "mb", "wake", "idle", "forwards", "optimizer", "workspace")


class Row:
    """One benchmark of attention_bench: a case with a number of threads, and an instruction set if one was forced."""

    def __init__(self, benchmark: dict):
        self.figures = benchmark
        parts = benchmark["name"].split("/iterations:")[0].split("/")
        self.case = "/".join(parts[:-1])
        self.threads = int(parts[-1])
        # A name of a peer has both a time and a ratio, and may contain any words.
        self.peers = {key[len(RATIO) :]: benchmark[key] for key in benchmark if key.startswith(RATIO)}

    def __getitem__(self, key: str) -> float:
        return self.figures[key]

    def has(self, key: str) -> bool:
        return key in self.figures

    def fastest(self) -> str | None:
        return min(self.peers, key=self.peers.get, default=None)


def microseconds(seconds: float) -> str:
    us = 1e6 * seconds
    return f"{us:.2f}" if us < 100 else f"{us:.0f}"


def print_table(title: str, head: list[str], lines: list[list[str]]) -> None:
    if not lines:
        return
    print(f"### {title}\n")
    widths = [max(len(line[column]) for line in [head, *lines]) for column in range(len(head))]
    ruler = ["-" * width for width in widths]
    for line in [head, ruler, *lines]:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |")
    print()


def main_line(row: Row, alone: Row | None) -> list[str]:
    by_memory = row.has("streamed_bytes")
    rate = f"{1e-9 * row['streamed_bytes'] / row['seconds']:.1f} GB/s" if by_memory else f"{1e-9 * row['flops'] / row['seconds']:.0f} GF/s"
    share = row["share_of_bandwidth"] if by_memory else row["share_of_peak"]
    fastest = row.fastest()
    others = [f"{peer} {microseconds(row[SECONDS + peer])}" for peer in sorted(row.peers, key=row.peers.get) if peer != fastest]
    return [
        row.case,
        str(row.threads),
        microseconds(row["seconds"]) + (" ?" if row["disturbed"] > 0 else ""),
        f"{microseconds(row['least'])} to {microseconds(row['most'])}",
        rate,
        f"{100 * share:.0f} %",
        f"{alone['seconds'] / row['seconds']:.2f}" if alone is not None and row.threads > 1 else "",
        fastest or "absent",
        microseconds(row[SECONDS + fastest]) if fastest else "",
        f"**{row.peers[fastest]:.2f}**" if fastest else "",
        ", ".join(others),
        f"{row['extra_bytes'] / 1024:.0f}",
    ]


def print_main(rows: list[Row], rows_of: dict) -> None:
    head = ["case", "threads", "heed, us", "least to most", "rate", "of meter", "over 1 thread"]
    head += ["fastest peer", "its us", "ratio", "other peers, us", "extra KB"]
    print_table("Time of a call", head, [main_line(row, rows_of.get((row.case, 1))) for row in rows])


def training_line(row: Row, alone: Row | None) -> list[str]:
    def milliseconds(seconds: float) -> str:
        return f"{1e3 * seconds:.1f}" if seconds < 0.1 else f"{1e3 * seconds:.0f}"

    both = [one["forward"] + one["backward"] for one in (row, alone) if one is not None]
    fastest = row.fastest()
    return [
        row.case,
        str(row.threads),
        milliseconds(row["forward"]),
        f"{100 * row['forward_share_of_peak']:.0f} %",
        milliseconds(row["backward"]) + (" ?" if row["disturbed"] > 0 else ""),
        f"{milliseconds(row['least_backward'])} to {milliseconds(row['most_backward'])}",
        f"{100 * row['share_of_peak']:.0f} %",
        f"{row['forwards']:.2f}",
        f"{both[1] / both[0]:.2f}" if alone is not None and row.threads > 1 else "",
        f"{fastest} {milliseconds(row[SECONDS + fastest])}" if fastest else "absent",
        f"**{row.peers[fastest]:.2f}**" if fastest else "",
        milliseconds(row["optimizer"]) if row.has("optimizer") else "",
        f"{100 * row['optimizer_of_step']:.1f} %" if row.has("optimizer") else "",
        f"{row['workspace_bytes'] / 2**20:.1f}",
        f"{row['saved_bytes'] / 2**20:.1f}",
    ]


def print_training(rows: list[Row], rows_of: dict) -> None:
    head = ["case", "threads", "forward, ms", "its share of peak", "backward, ms", "least to most", "share of peak", "over forward"]
    head += ["both over 1 thread", "both of a peer, ms", "its time over heed's", "optimizer, ms", "of a step", "workspace, MB", "saved, MB"]
    print_table("Training", head, [training_line(row, rows_of.get((row.case, 1))) for row in rows])


def print_idle(rows: list[Row]) -> None:
    head = ["case", "threads", "at once, us", "10 ms apart", "apart, caller asleep", "processor time of that", "work"]
    keys = ["at_once", "apart", "apart_asleep", "processor", "work"]
    print_table("Calls with pauses", head, [[row.case, str(row.threads), *(microseconds(row[key]) for key in keys)] for row in rows])


def time_by_meter(row: Row) -> float:
    """The row's time multiplied by the machine's limit that was measured beside it, so in operations or bytes. Two
    cases are minutes apart, and the speed of the machine changes."""
    if row.has("streamed_bytes"):
        return row["streamed_bytes"] / row["share_of_bandwidth"]
    return row["flops"] / row["share_of_peak"]


def time_of_call(row: Row) -> float:
    """Of a case of training: forward and backward."""
    return row["seconds"] if row.has("seconds") else row["forward"] + row["backward"]


def measured(row: Row, measure: str, rows_of: dict) -> float | None:
    """The value of a target's measure for that row; None if the run lacks it."""
    kind, _, of = measure.partition(":")
    if kind == "ratio":
        peer = of.replace("_", " ") or row.fastest()
        return row.peers.get(peer)
    if kind == "threads":
        alone = rows_of.get((row.case, 1))
        return None if alone is None else time_of_call(alone) / time_of_call(row)
    if kind == "workspace":
        other = rows_of.get((of, row.threads))
        return None if other is None else row["workspace_bytes"] / other["workspace_bytes"]
    if kind == "over":
        other = rows_of.get((of, row.threads))
        return None if other is None else time_by_meter(other) / time_by_meter(row)
    values = {
        "peak": lambda: row["share_of_peak"],
        "read": lambda: row["share_of_bandwidth"],
        "us": lambda: 1e6 * row["seconds"],
        "mb": lambda: row["extra_bytes"] / 2**20 / row.threads,
        "wake": lambda: row["apart"] / row["at_once"],
        "idle": lambda: row["processor"] / row["work"],
        "forwards": lambda: row["forwards"],
        "optimizer": lambda: row["optimizer_of_step"],
    }
    return values[kind]()


def print_targets(path: str, rows: list[Row], rows_of: dict) -> None:
    lines = []
    for text in Path(path).read_text(encoding="utf-8").splitlines():
        words = text.partition("#")[0].split()
        if not words:
            continue
        case, threads, measure, bound = words
        for row in rows:
            if row.case != case or threads not in ("*", str(row.threads)):
                continue
            value = measured(row, measure, rows_of)
            if value is None:
                continue
            at_most = measure.partition(":")[0] in AT_MOST
            is_met = value <= float(bound) if at_most else value >= float(bound)
            wanted = f"{'<=' if at_most else '>='} {bound}"
            lines.append([case, str(row.threads), measure, wanted, f"{value:.3f}", "" if is_met else "missed"])
    met = sum(line[-1] == "" for line in lines)
    print_table(f"Targets: {met} of {len(lines)} met", ["case", "threads", "measure", "target", "measured", ""], lines)


def print_conditions(context: dict, rows: list[Row]) -> None:
    heed = json.loads(context["heed"])
    print(f"- {context['date'][:10]}, {context['processor']}, {context['num_cpus']} processors")
    print(f"- heed {heed['version']}, {heed['description']}; {context['compiler']}")
    print(f"- peers: {context['peers']}")
    isa_of = {(row.case, row.threads): row.case.partition("/")[2] or "widest vectors" for row in rows}
    for threads in sorted({row.threads for row in rows}):
        ours = [row for row in rows if row.threads == threads]
        for isa in sorted(set(isa_of.values())):
            peaks = [row["peak_flops"] for row in ours if row.has("peak_flops") and isa_of[row.case, threads] == isa]
            if peaks:
                print(f"- FMA peak of {threads} thread{'s' if threads > 1 else ''}, {isa}: {1e-9 * min(peaks):.0f} to {1e-9 * max(peaks):.0f} GFLOP/s")
        reads = [row["read_bandwidth"] for row in ours if row.has("read_bandwidth")]
        if reads:
            print(f"- read bandwidth of {threads} thread{'s' if threads > 1 else ''}: {1e-9 * min(reads):.0f} to {1e-9 * max(reads):.0f} GB/s")
    handovers = [row["handover"] for row in rows if row.has("handover")]
    if handovers:
        print(f"- from one thread to another: {1e9 * min(handovers):.0f} to {1e9 * max(handovers):.0f} ns")


def print_weights(weights: list[dict]) -> None:
    head = ["file holds", "dtype", "threads", "MB", "a copy, ms", "loading, ms", "ratio", "least to most", "at most", "memory kept / file", "taken / file"]
    lines = [
        [
            one["form"],
            one["dtype"],
            str(one["threads"]),
            f"{one['mb']:.0f}",
            f"{one['copy_ms']:.1f}",
            f"{one['load_ms']:.1f}",
            f"**{one['ratio']:.2f}**",
            f"{one['least']:.2f} to {one['most']:.2f}",
            "1.3",
            f"{one['kept']:.2f}",
            f"{one['taken']:.2f}",
        ]
        for one in weights
    ]
    print_table("Loading weights beside a copy of their bytes", head, lines)


def print_cache(cache: dict) -> None:
    head = ["layout", "median, us", "99 of 100 take at most", "most", "over the steps around it"]
    lines = [
        [one["layout"], *(f"{one[key]:.1f}" for key in ("median_us", "most_of_99_us", "most_us")), f"{one['jump']:.2f}"]
        for one in cache["steps"]
    ]
    print_table(f"Steps that append a row to a cache of {cache['rows']} rows", head, lines)
    lines = []
    for function, bound in (("fork", "5"), ("rewind", "")):
        for one in cache["changes"]:
            lines.append([f"heed_cache_{function}", str(one["page_size"]), f"{one[f'{function}_us']:.2f}", bound])
    print_table(f"Changes of {cache['rows']} rows", ["function", "rows of a page", "us", "at most"], lines)


def print_arrays(arrays: list[dict]) -> None:
    head = ["function", "threads", "heed, us", "beside", "its time over heed's", "least to most", "at least"]
    lines = [
        [
            one["name"],
            str(one["threads"]),
            f"{one['us']:.1f}",
            one["peer"],
            f"**{one['ratio']:.2f}**",
            f"{one['least']:.2f} to {one['most']:.2f}",
            f"{one['bound']:.2f}",
        ]
        for one in arrays
    ]
    print_table("Functions of arrays beside a loop in C++", head, lines)


def main() -> None:
    arguments = sys.argv[1:]
    out = None
    if arguments[0] == "--json":
        out, arguments = arguments[1], arguments[2:]
    targets, *files = arguments
    contexts, benchmarks, load, weights, cache, arrays = [], [], None, [], None, []
    for file in files:
        content = json.loads(Path(file).read_text(encoding="utf-8"))
        if "benchmarks" in content:
            contexts.append(content["context"])
            benchmarks += content["benchmarks"]
        elif "weights" in content:
            weights += content["weights"]
        elif "cache" in content:
            cache = content["cache"]
        elif "arrays" in content:
            arrays += content["arrays"]
        else:
            load = content
    all_rows = [Row(benchmark) for benchmark in benchmarks if not benchmark.get("error_occurred")]
    rows_of = {(row.case, row.threads): row for row in all_rows}
    if contexts:
        print_conditions(contexts[0], all_rows)
        print()
        print_main([row for row in all_rows if row.has("seconds")], rows_of)
        print_training([row for row in all_rows if row.has("backward")], rows_of)
        print_idle([row for row in all_rows if row.has("apart")])
        print_targets(targets, all_rows, rows_of)
        for benchmark in benchmarks:
            if benchmark.get("error_occurred"):
                print(f"{benchmark['name'].split('/iterations:')[0]} was left out: {benchmark['error_message']}.")
    print_weights(weights)
    if cache is not None:
        print_cache(cache)
    print_arrays(arrays)
    if load is not None:
        loading = f"{load['load_ms']} ms, a context {load['open_ms']} ms, {load['resident_kb']:.0f} KB resident"
        print(f"Loading the library ({load['file_kb']:.0f} KB): {loading}.")
    if out is not None:
        merged = {"contexts": contexts, "benchmarks": benchmarks, "load": load, "weights": weights, "cache": cache, "arrays": arrays}
        Path(out).write_text(json.dumps(merged, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
