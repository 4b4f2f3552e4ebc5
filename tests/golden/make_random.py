# SPDX-License-Identifier: Apache-2.0
"""Makes random_numbers.h: the expected results of heed_tensor_fill_uniform and heed_tensor_fill_normal, by the formulas of
docs/semantics.md, "Random numbers", with Python's integers, floats and standard library only.

    make_random.py FILE            writes FILE
    make_random.py --check FILE    fails if the contents of FILE differ"""

import bisect
import math
import struct
import sys
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

MASK = 2**32 - 1
UNIFORM, NORMAL = 2**32 - 1, 2**32 - 2


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011)."""
    x, k = list(counter), list(key)
    for _ in range(10):
        low, high = x[0] * 0xD2511F53, x[2] * 0xCD9E8D57
        x = [(high >> 32) ^ x[1] ^ k[0], high & MASK, (low >> 32) ^ x[3] ^ k[1], low & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return x


assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]  # published by the authors


def word(seed: int, domain: int, index: int) -> int:
    block = index // 4
    return philox([block & MASK, block >> 32, 0, domain], [seed & MASK, seed >> 32])[index % 4]


# ---- dtypes: the numbers of each in ascending order
# ---------------------------------------------------------------------


def floats(code: str, pattern: str) -> list[Fraction]:
    """Every finite number of a 16-bit format, in ascending order."""
    size = 1 << 16
    if code == "BF16":
        values = [struct.unpack("<f", struct.pack("<I", bits << 16))[0] for bits in range(size)]
    else:
        values = [struct.unpack(pattern, struct.pack("<H", bits))[0] for bits in range(size)]
    return sorted({Fraction(v) for v in values if math.isfinite(v)})


NUMBERS = {
    "F16": floats("F16", "<e"),
    "BF16": floats("BF16", ""),
    "I8": [Fraction(i) for i in range(-128, 128)],
    "U8": [Fraction(i) for i in range(256)],
}


def nearest(numbers: list[Fraction], x: float) -> float:
    """To nearest, ties to the number whose last bit is 0 in the format."""
    exact = Fraction(x)
    above = bisect.bisect_left(numbers, exact)
    neighbours = numbers[max(above - 1, 0) : above + 1]
    if len(neighbours) == 1:
        return float(neighbours[0])
    low, high = neighbours
    if exact - low != high - exact:
        return float(low if exact - low < high - exact else high)
    return float(low if low / (high - low) % 2 == 0 else high)


def uniform(dtype: str, low: float, high: float, seed: int, count: int) -> list[float]:
    result = []
    inside = [n for n in NUMBERS.get(dtype, []) if Fraction(low) <= n < Fraction(high)]
    for i in range(count):
        fraction = (word(seed, UNIFORM, 2 * i) * 2**21 + word(seed, UNIFORM, 2 * i + 1) // 2**11) * 2.0**-53
        x = low + fraction * (high - low)
        if dtype == "F64":
            result.append(min(x, math.nextafter(high, -math.inf)))
            continue
        clamped = min(max(x, float(inside[0])), float(inside[-1]))
        result.append(float(math.trunc(clamped)) if dtype in ("I8", "U8") else nearest(inside, clamped))
    return result


def normal(mean: float, deviation: float, seed: int, count: int) -> list[float]:
    """In f64, by the standard library's inverse of the normal distribution."""
    return [mean + deviation * NormalDist().inv_cdf((word(seed, NORMAL, i) + 0.5) * 2.0**-32) for i in range(count)]


UNIFORM_CASES = [
    ("F64", 0.0, 1.0, 0),
    ("F64", -3.5, 1e6, 0x123456789ABCDEF0),
    ("F64", 1.0, 1.0000000000000004, 7),  # an interval with two numbers
    ("F16", 0.0, 1.0, 1),
    ("F16", 2047.1, 2053.0, 2),  # the format's numbers are whole, then even
    ("F16", -1e6, 1e6, 3),  # beyond the format's range
    ("BF16", 1.0, 1.02, 4),  # an interval with three numbers
    ("BF16", -0.3, 0.7, 0xFFFFFFFFFFFFFFFF),
    ("I8", -5.0, 5.0, 5),
    ("I8", -6.5, -0.5, 6),
    ("U8", 250.5, 300.0, 7),
]
NORMAL_CASES = [(0.0, 1.0, 0), (10.0, 0.25, 0xFEDCBA9876543210), (-1e3, 1e3, 42)]
COUNT = 13  # three blocks of four words, and one word more


def document() -> str:
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// Made by make_random.py, which knows nothing of heed's code.",
        "// clang-format off",
        "#pragma once",
        "",
        "#include <heed/heed.h>",
        "",
        "#include <vector>",
        "",
        "namespace heed::golden {",
        "",
        "struct UniformNumbers { heed_dtype dtype; double low; double high; uint64_t seed; std::vector<double> numbers; };",
        "inline const std::vector<UniformNumbers> kUniformNumbers = {",
    ]
    for dtype, low, high, seed in UNIFORM_CASES:
        numbers = ", ".join(x.hex() for x in uniform(dtype, low, high, seed, COUNT))
        lines.append(f"  {{HEED_{dtype}, {low.hex()}, {high.hex()}, {seed:#x}, {{{numbers}}}}},")
    lines += [
        "};",
        "",
        "struct NormalNumbers { double mean; double standard_deviation; uint64_t seed; std::vector<double> numbers; };",
        "inline const std::vector<NormalNumbers> kNormalNumbers = {",
    ]
    for mean, deviation, seed in NORMAL_CASES:
        numbers = ", ".join(f"{x:.14e}" for x in normal(mean, deviation, seed, COUNT))
        lines.append(f"  {{{mean.hex()}, {deviation.hex()}, {seed:#x}, {{{numbers}}}}},")
    lines += ["};", "", "}  // namespace heed::golden", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    file = Path(sys.argv[-1])
    if sys.argv[1] == "--check":
        if file.read_text(encoding="utf-8") != document():
            sys.exit(f"{file} is not what make_random.py makes")
    else:
        file.write_text(document(), encoding="utf-8")
