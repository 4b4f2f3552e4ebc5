// SPDX-License-Identifier: Apache-2.0
// Violations and counts, which ascend_sim/control.h gives to tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ascend_sim {

void report_violation(std::string sentence);

// Increments a count of ascend_sim_count.
void count(std::string_view what, uint64_t number = 1);

// How reports name memory: "3 bytes at 0x...".
std::string text_of_memory(const void* address, size_t bytes);

// Writes one line each, cut at `capacity` and terminated with a zero.
void write_lines(const std::vector<std::string>& lines, char* text, size_t capacity);

}  // namespace ascend_sim
