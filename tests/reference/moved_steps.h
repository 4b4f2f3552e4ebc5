// SPDX-License-Identifier: Apache-2.0
// How far the result of several steps may be off, if each step of them is off by at most its own error.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "reference/attention.h"

namespace heed::reference {

// What the next step reads in place of the result of this one. The bound of a result is that of one step: its inputs have no error.
using AfterStep = std::function<std::vector<double>(Bounded result)>;

// The next step reads what this one computes.
std::vector<double> unmoved(Bounded result);

// Results by name, each of them rows of `size` elements.
struct Rows {
  std::vector<double> values;
  int64_t size = 1;
};
using NamedRows = std::map<std::string, Rows>;
using NamedBounds = std::map<std::string, Bounded>;

// The exact results, and how far an engine's may be from them. How the errors of steps add up in a result depends on the steps in
// between. So the steps' results are moved, each up or down by half to all of its error at random, some times over: a result's error is
// kTimesMoved times the largest difference in its row. Moved by as much as each other, two that are subtracted would not differ.
inline constexpr double kTimesMoved = 2.0;
NamedBounds with_moved_steps(const std::function<NamedRows(const AfterStep& after_step)>& results);

}  // namespace heed::reference
