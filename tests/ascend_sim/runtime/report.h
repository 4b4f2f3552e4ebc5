// SPDX-License-Identifier: Apache-2.0
// What happened: violations and counts, as ascend_sim/control.h hands them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ascend_sim {

void report_violation(std::string sentence);

// Adds to a count of ascend_sim_count.
void count(std::string_view what, uint64_t number = 1);

// "3 bytes at 0x...": how reports name memory.
std::string text_of_memory(const void* address, size_t bytes);

// One line each, zero-terminated, cut at `capacity`.
void write_lines(const std::vector<std::string>& lines, char* text, size_t capacity);

}  // namespace ascend_sim
