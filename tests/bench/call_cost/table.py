#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py <file>: makes a Markdown table from lines "language layer form nanoseconds [bytes]" of several rounds."""
import statistics
import sys


def main():
    times = {}
    allocated = {}
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in file:
            language, layer, form, nanoseconds, *rest = line.split()
            times.setdefault((layer, form), {}).setdefault(language, []).append(float(nanoseconds))
            allocated[layer, form, language] = rest[0] if rest else "0"
    print("| layer | outputs | language | call, us | beyond C's, us | bytes |")
    print("|---|---|---|---|---|---|")
    for (layer, form), languages in times.items():
        for language, rounds in languages.items():
            median = statistics.median(rounds)
            # The languages of a round run directly after each other, so the load of other programs affects their
            # differences least.
            beyond = statistics.median(mine - c for mine, c in zip(rounds, languages["C"]))
            share = "" if language == "C" else f"{beyond / 1000:.2f}"
            print(f"| {layer} | {form} | {language} | {median / 1000:.2f} | {share} | {float(allocated[layer, form, language]):.0f} |")


if __name__ == "__main__":
    main()
