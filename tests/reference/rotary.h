// SPDX-License-Identifier: Apache-2.0
// Rotary positions in f64, with the error of an f32 engine whose angles are in f64.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/attention.h"

namespace heed::reference {

enum class Pairing { Half, Interleaved };
enum class RotaryScaling { None, Linear, Ntk, Yarn, Llama3, Factors };

// With all members that the scaling uses.
struct RotaryOptions {
  int64_t size = 0;    // of the rotated slice
  int64_t offset = 0;  // its first element
  Pairing pairing = Pairing::Half;
  RotaryScaling scaling = RotaryScaling::None;
  double base = 10000;
  double factor = 1;
  double original_length = 0;
  double beta_fast = 32;
  double beta_slow = 1;
  double low_frequency_factor = 1;
  double high_frequency_factor = 4;
  bool rounds_range = true;     // YaRN
  double attention_factor = 0;  // 0: what the scaling says
  std::vector<double> factors;
};

// The angle of a position is the position times this. `error`: the largest relative error of an engine's frequency.
struct Frequency {
  double value = 0;
  double error = 0;
};

// Of each pair.
std::vector<Frequency> rotary_frequencies(const RotaryOptions& options);

// The factor on cosines and sines.
double attention_factor(const RotaryOptions& options);

// Rotates a row of head_size elements in place. `compute_format`: to which an engine rounds cosines, sines and results.
void rotate(const RotaryOptions& options, const std::vector<Frequency>& frequencies, int64_t position,
            std::optional<Format> compute_format, double* values, double* errors);

}  // namespace heed::reference
