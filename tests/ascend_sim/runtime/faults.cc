// SPDX-License-Identifier: Apache-2.0
#include "runtime/faults.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ascend_sim/control.h"
#include "runtime/errors.h"

namespace {

using ascend_sim::Call;
using ascend_sim::kNumCalls;

struct CallFault {
  uint64_t at;
  int code;
};

struct Faults {
  uint32_t num_devices = 1;
  bool driver_missing = false;
  size_t memory_bytes = size_t{8} << 30;
  std::string soc = "Ascend910B4";
  std::array<std::vector<CallFault>, kNumCalls> calls;
  std::array<uint64_t, kNumCalls> num_calls{};
};

struct Word {
  std::string_view name;
  Call call;
  // The code of a fault that is written as n alone; kCodeIsGiven if it is written as n:code.
  int code;
};
constexpr int kCodeIsGiven = -1;

constexpr Word kWords[] = {
    {"malloc", Call::Malloc, ascend_sim::kOutOfDeviceMemory},
    {"malloc_host", Call::MallocHost, ascend_sim::kOutOfDeviceMemory},
    {"memcpy", Call::Memcpy, kCodeIsGiven},
    {"memset", Call::Memset, ascend_sim::kOutOfDeviceMemory},
    {"create_stream", Call::CreateStream, kCodeIsGiven},
    {"saturation", Call::Saturation, kCodeIsGiven},
    {"kernel", Call::Kernel, kCodeIsGiven},
    {"create_context", Call::CreateContext, kCodeIsGiven},
    {"create_operation", Call::CreateOperation, kCodeIsGiven},
    {"setup", Call::Setup, kCodeIsGiven},
    {"execute", Call::Execute, kCodeIsGiven},
    {"throw", Call::Throw, 0},
};

[[noreturn]] void refuse(std::string_view fault) {
  std::fprintf(stderr, "ascend_sim: the fault '%.*s' cannot be read; ascend_sim/control.h lists them\n",
               static_cast<int>(fault.size()), fault.data());
  std::abort();
}

template <class Number>
Number number_in(std::string_view text, std::string_view fault) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) refuse(fault);
  return number;
}

void add(std::string_view fault, Faults& faults) {
  const size_t equals = fault.find('=');
  if (equals == std::string_view::npos) refuse(fault);
  const std::string_view name = fault.substr(0, equals);
  const std::string_view value = fault.substr(equals + 1);
  if (name == "device_count") {
    faults.num_devices = number_in<uint32_t>(value, fault);
  } else if (name == "soc") {
    faults.soc = value;
  } else if (name == "driver" && value == "missing") {
    faults.driver_missing = true;
  } else if (name == "memory") {
    faults.memory_bytes = number_in<size_t>(value, fault);
  } else {
    for (const Word& word : kWords) {
      if (word.name != name) continue;
      const size_t colon = value.find(':');
      const bool has_code = colon != std::string_view::npos;
      if (has_code != (word.code == kCodeIsGiven)) refuse(fault);
      const auto at = number_in<uint64_t>(value.substr(0, colon), fault);
      const int code = has_code ? number_in<int>(value.substr(colon + 1), fault) : word.code;
      if (at == 0 || (has_code && code == 0)) refuse(fault);
      faults.calls[static_cast<size_t>(word.call)].push_back({at, code});
      return;
    }
    refuse(fault);
  }
}

Faults parse(std::string_view list) {
  Faults faults;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    add(list.substr(0, comma), faults);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return faults;
}

struct State {
  std::mutex mutex;
  Faults faults;
};

// Never destroyed: worker threads and static destructors of other libraries may still use it.
State& state() {
  static State& state = *[] {
    auto* const first = new State;
    if (const char* const list = std::getenv("ASCEND_SIM_FAULTS")) first->faults = parse(list);
    return first;
  }();
  return state;
}

// Reads the list when the library is loaded, so that a list that cannot be read ends the process there and not at a
// later call.
[[maybe_unused]] const bool kIsRead = (state(), true);

}  // namespace

namespace ascend_sim {

std::optional<int> fault_of(Call call) {
  const std::lock_guard lock(state().mutex);
  Faults& faults = state().faults;
  const uint64_t number = ++faults.num_calls[static_cast<size_t>(call)];
  for (const CallFault& fault : faults.calls[static_cast<size_t>(call)]) {
    if (fault.at == number) return fault.code;
  }
  return std::nullopt;
}

uint32_t device_count() {
  const std::lock_guard lock(state().mutex);
  return state().faults.num_devices;
}

bool driver_is_missing() {
  const std::lock_guard lock(state().mutex);
  return state().faults.driver_missing;
}

size_t memory_capacity() {
  const std::lock_guard lock(state().mutex);
  return state().faults.memory_bytes;
}

const char* soc_name() {
  // Returned names are never freed. There are only a few, those that tests set.
  static auto& names = *new std::set<std::string>;
  const std::lock_guard lock(state().mutex);
  return names.insert(state().faults.soc).first->c_str();
}

}  // namespace ascend_sim

void ascend_sim_set_faults(const char* list) {
  Faults faults = parse(list == nullptr ? "" : list);
  const std::lock_guard lock(state().mutex);
  state().faults = std::move(faults);
}

void ascend_sim_clear_faults() { ascend_sim_set_faults(""); }
