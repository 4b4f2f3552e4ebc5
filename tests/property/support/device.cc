// SPDX-License-Identifier: Apache-2.0
#include "property/support/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/platform/library.h"
#include "support/platform/memory.h"

namespace heed::property {
namespace {

// Counts of all calls of the program. One thread at a time makes calls.
struct Calls {
  int64_t done = 0;
  int64_t refused = 0;
  std::map<std::string, int64_t> refused_for;
};

Calls& calls() {
  static Calls all;
  return all;
}

// In the error of a strict context the reasons follow this text, separated by semicolons.
constexpr std::string_view kBeforeReasons = "would not take the fastest path: ";

std::vector<std::string> reasons_of(const CallFailed& failure) {
  const std::string_view sentence = failure.what();
  const size_t start = sentence.find(kBeforeReasons);
  if (start == std::string_view::npos) return {std::string(sentence)};
  std::vector<std::string> reasons;
  for (std::string_view rest = sentence.substr(start + kBeforeReasons.size()); !rest.empty();) {
    const size_t end = rest.find("; ");
    reasons.emplace_back(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 2);
  }
  return reasons;
}

// docs/ascend.md lists all reasons, so that users know them. A reason that it lacks fails the test.
bool is_documented(const std::string& reason) {
  std::ifstream file(HEED_SOURCE_DIR "/docs/ascend.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  return page.find(reason) != std::string::npos;
}

// A function of the simulator, or null on hardware. It is looked up by name, since the program is not linked with the
// simulator. The plugin, and with it the simulator's library, stays loaded.
template <typename Function>
Function* in_simulator(const char* name) {
  void* const library = open_loaded_library("libascendcl.so");
  if (library == nullptr) return nullptr;
  auto* const function = reinterpret_cast<Function*>(find_in_library(library, name));
  close_library(library);
  return function;
}

// The text that a function of the simulator reports, or "" if its count is 0.
std::string report_of(const char* function) {
  auto* const report = in_simulator<size_t(char*, size_t)>(function);
  if (report == nullptr) return "";
  std::vector<char> buffer(size_t{1} << 16);
  const size_t count = report(buffer.data(), buffer.size());
  return count == 0 ? "" : std::to_string(count) + " of " + function + ":\n" + buffer.data();
}

// Fails a test in which the simulator found a misuse, or which leaked memory or objects on the device.
class DeviceListener : public testing::EmptyTestEventListener {
 public:
  // One context that lives as long as the test keeps the device open between its calls. If it lived longer, memory that
  // the device keeps for later calls would look like a leak of the test.
  void OnTestStart(const testing::TestInfo& /*test*/) override { context_ = make_context(); }

  // By now GoogleTest has destroyed the test's object, but it still counts failures for the test.
  void OnTestEnd(const testing::TestInfo& /*test*/) override {
    context_.reset();
    for (const char* report : {"ascend_sim_leaks", "ascend_sim_violations"}) EXPECT_EQ(report_of(report), "");
    // Misuses of this test must not fail the next one.
    if (auto* const clear = in_simulator<void()>("ascend_sim_clear_violations"); clear != nullptr) clear();
  }

 private:
  Context context_;
};

// Prints the share of calls that the CPU computed, with their reasons.
class DeviceEnvironment : public testing::Environment {
 public:
  void TearDown() override {
    const auto total = static_cast<double>(calls().done + calls().refused);
    const double share = total == 0 ? 0.0 : static_cast<double>(calls().refused) / total;
    std::printf("%.0f calls, %lld wholly on the device, %lld refused: %.2f %%\n", total,
                static_cast<long long>(calls().done), static_cast<long long>(calls().refused), 100.0 * share);
    for (const auto& [reason, count] : calls().refused_for) {
      std::printf("  %6.2f %% (%lld): %s\n", 100.0 * static_cast<double>(count) / total, static_cast<long long>(count),
                  reason.c_str());
      EXPECT_TRUE(is_documented(reason)) << reason;
    }
    if (const char* largest = std::getenv("HEED_TEST_MAX_REFUSED"); largest != nullptr) {
      EXPECT_LE(share, std::strtod(largest, nullptr)) << "more calls than expected were not done by the device";
    }
  }
};

[[maybe_unused]] const bool kKeepsMemory = [] {
  keep_freed_memory();
  return true;
}();

[[maybe_unused]] const bool kWatched = [] {
  if (!on_ascend()) return false;
  testing::AddGlobalTestEnvironment(new DeviceEnvironment);
  testing::UnitTest::GetInstance()->listeners().Append(new DeviceListener);
  return true;
}();

}  // namespace

int64_t from_environment(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::strtoll(text, nullptr, 10) : fallback;
}

int64_t num_rounds(int64_t all) { return std::max<int64_t>(1, all / from_environment("HEED_PROPERTY_DIVISOR", 1)); }

bool on_ascend() {
  static const bool asked = [] {
    const char* device = std::getenv("HEED_TEST_DEVICE");
    return device != nullptr && std::string_view(device) == "ascend";
  }();
  return asked;
}

heed_context_options device_options(Fallback fallback) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  if (!on_ascend()) return options;
  options.device = HEED_DEVICE_ASCEND;
  options.allow_reduced_precision = 1;
  options.strict = fallback == Fallback::Refused ? 1 : 0;
  return options;
}

Context make_context(Fallback fallback) {
  const heed_context_options options = device_options(fallback);
  heed_context* context = nullptr;
  check(heed_context_create(&options, &context));
  return Context(context);
}

std::optional<reference::Format> compute_format(heed_dtype inputs) {
  if (!on_ascend()) return std::nullopt;
  return inputs == HEED_F16 ? reference::Format::F16 : reference::Format::BF16;
}

double as_read_by_device(heed_dtype inputs, double number) {
  const std::optional<reference::Format> format = compute_format(inputs);
  return format ? reference::round_to(*format, number) : number;
}

double coarseness(heed_dtype inputs) {
  const std::optional<reference::Format> format = compute_format(inputs);
  return format ? reference::unit_roundoff(*format) / reference::unit_roundoff(reference::Format::F32) : 1.0;
}

double a_few_roundings(double magnitude) { return 20.0 * coarseness() * 0x1p-24 * magnitude; }

void count_done() { ++calls().done; }

int64_t num_refused() { return calls().refused; }

void count_refused(const CallFailed& failure) {
  ++calls().refused;
  for (const std::string& reason : reasons_of(failure)) ++calls().refused_for[reason];
}

bool is_refusal(const CallFailed& failure) {
  return failure.status == HEED_ERROR_NOT_FASTEST || failure.status == HEED_ERROR_UNSUPPORTED;
}

}  // namespace heed::property
