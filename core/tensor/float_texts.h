// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers of an array as texts, by NumPy's rules.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace heed {

// The numbers of an array of that dtype: all have the same width, with their decimal points below each other.
std::vector<std::string> aligned_texts(std::span<const double> numbers, DType dtype);

// The only number of an array without axes.
std::string single_text(double number, DType dtype);

}  // namespace heed
