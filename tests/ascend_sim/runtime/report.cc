// SPDX-License-Identifier: Apache-2.0
#include "runtime/report.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "ascend_sim/control.h"
#include "runtime/device_memory.h"
#include "runtime/runtime.h"

namespace {

struct Records {
  std::mutex mutex;
  size_t num_violations = 0;
  std::vector<std::string> violations;
  std::map<std::string, uint64_t, std::less<>> counts;
};

Records& records() {
  static Records& records = *new Records;
  return records;
}

// A mistake in a loop must not fill the memory: later violations are only counted.
constexpr size_t kMaxSentences = 1000;

}  // namespace

namespace ascend_sim {

void report_violation(std::string sentence) {
  const std::lock_guard lock(records().mutex);
  ++records().num_violations;
  if (records().violations.size() < kMaxSentences) records().violations.push_back(std::move(sentence));
}

void count(std::string_view what, uint64_t number) {
  const std::lock_guard lock(records().mutex);
  auto found = records().counts.find(what);
  if (found == records().counts.end()) found = records().counts.emplace(what, 0).first;
  found->second += number;
}

std::string text_of_memory(const void* address, size_t bytes) {
  char text[64];
  std::snprintf(text, sizeof text, "%zu bytes at %p", bytes, address);
  return text;
}

void write_lines(const std::vector<std::string>& lines, char* text, size_t capacity) {
  if (text == nullptr || capacity == 0) return;
  size_t end = 0;
  for (const std::string& line : lines) {
    const size_t bytes = std::min(line.size(), capacity - 1 - end);
    std::memcpy(text + end, line.data(), bytes);
    end += bytes;
    if (end + 1 >= capacity) break;
    text[end++] = '\n';
  }
  text[end] = '\0';
}

}  // namespace ascend_sim

size_t ascend_sim_violations(char* text, size_t capacity) {
  const std::lock_guard lock(records().mutex);
  ascend_sim::write_lines(records().violations, text, capacity);
  return records().num_violations;
}

void ascend_sim_clear_violations() {
  const std::lock_guard lock(records().mutex);
  records().num_violations = 0;
  records().violations.clear();
}

uint64_t ascend_sim_count(const char* what) {
  if (what == nullptr) return 0;
  if (std::string_view(what) == "bytes_allocated") return ascend_sim::device_memory().requested_bytes();
  if (std::string_view(what) == "devices_set") return ascend_sim::num_devices_set();
  if (std::string_view(what) == "violations") return ascend_sim_violations(nullptr, 0);
  const std::lock_guard lock(records().mutex);
  const auto found = records().counts.find(std::string_view(what));
  return found == records().counts.end() ? 0 : found->second;
}
