// SPDX-License-Identifier: Apache-2.0
// The sinusoids of positional encodings in f64.
#pragma once

#include <cstdint>

#include "reference/operations.h"

namespace heed::reference {

enum class Sinusoids {
  InTurn,         // sin(p / 10000^(2i/d)), cos(p / 10000^(2i/d)), ...
  Halves,         // sines of p / 10000^(i / (d/2 - 1)), then cosines
  HalvesOfPairs,  // sines of p / 10000^(2i/d), then cosines
};

// Element d of the row of a position, with the error of an engine that computes it in f64 and rounds it to f32.
BoundedNumber sinusoid(Sinusoids kind, int64_t size, int64_t position, int64_t d);

// A row's element plus an element of the input, which is exact, added in f32. `dropout`: the probability with which the
// element, which was kept, would have been dropped.
BoundedNumber encoded(const BoundedNumber& row, double input, double dropout);

}  // namespace heed::reference
