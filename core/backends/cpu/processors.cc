// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/processors.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "backends/backend.h"

namespace heed::cpu {
namespace {

// The whole of a small file, or as much as fits; an empty text where it cannot be read.
template <size_t capacity>
std::string_view read_file(const char* path, char (&text)[capacity]) {
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  size_t size = 0;
  for (;;) {
    const ssize_t got = ::read(descriptor, text + size, capacity - size);
    if (got <= 0) break;
    size += static_cast<size_t>(got);
  }
  ::close(descriptor);
  return {text, size};
}

// The text before the first separator, which is taken from `rest` together with it.
std::string_view next_part(std::string_view& rest, char separator) {
  const size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

// A number in decimal; -1 for anything else, "max" among it.
int64_t number_of(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  if (text.empty() || text.size() > 18) return -1;
  int64_t number = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return -1;
    number = number * 10 + (digit - '0');
  }
  return number;
}

// Time allowed in each period, both in microseconds, as processors; 0 for no limit.
int32_t processors_of(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int32_t>(std::min<int64_t>((quota - 1) / period + 1, kMaxThreads));
}

// The tighter of two limits, of which 0 is none.
int32_t tighter(int32_t a, int32_t b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

// Of one control group, by the files of either version in its folder below where a hierarchy is mounted.
int32_t limit_of_group(std::string_view mount, std::string_view group) {
  char path[PATH_MAX];
  char text[128];
  const auto read = [&](const char* name) {
    const int length = std::snprintf(path, sizeof path, "%.*s%.*s/%s", static_cast<int>(mount.size()), mount.data(),
                                     static_cast<int>(group.size()), group.data(), name);
    return length < static_cast<int>(sizeof path) ? read_file(path, text) : std::string_view();
  };
  std::string_view both = read("cpu.max");
  const int64_t quota_v2 = number_of(next_part(both, ' '));
  const int32_t limit_v2 = processors_of(quota_v2, number_of(both));
  const int64_t quota_v1 = number_of(read("cpu.cfs_quota_us"));
  return tighter(limit_v2, processors_of(quota_v1, number_of(read("cpu.cfs_period_us"))));
}

// Of the group and all above it, up to where its hierarchy is mounted. Within a container the path may be that of the
// system outside, whose folders are not there; the mount itself is then the container's group.
int32_t limit_of_groups(std::string_view mount, std::string_view group) {
  int32_t limit = 0;
  for (;;) {
    limit = tighter(limit, limit_of_group(mount, group));
    if (group.empty()) return limit;
    group = group.substr(0, group.rfind('/') == std::string_view::npos ? 0 : group.rfind('/'));
  }
}

bool has_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    if (next_part(controllers, ',') == "cpu") return true;
  }
  return false;
}

int32_t count_processors_of_affinity() {
  // Many times what the kernel was built for; it refuses a set that is too small for it.
  constexpr size_t kMaxProcessors = 16384;
  cpu_set_t set[kMaxProcessors / CHAR_BIT / sizeof(cpu_set_t)];
  if (::sched_getaffinity(0, sizeof set, set) == 0) return CPU_COUNT_S(sizeof set, set);
  return static_cast<int32_t>(::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

int32_t count_processors_of_quota(const char* groups, const char* root) {
  char text[4096];
  std::string_view lines = read_file(groups, text);
  int32_t limit = 0;
  while (!lines.empty()) {
    // number:controllers:path, without controllers in version 2.
    std::string_view group = next_part(lines, '\n');
    next_part(group, ':');
    const std::string_view controllers = next_part(group, ':');
    char mount[PATH_MAX];
    const auto look_below = [&](std::string_view name) {
      const int length =
          std::snprintf(mount, sizeof mount, "%s/%.*s", root, static_cast<int>(name.size()), name.data());
      if (length < static_cast<int>(sizeof mount)) limit = tighter(limit, limit_of_groups(mount, group));
    };
    if (controllers.empty()) {
      look_below("");
      // Beside version 1.
      look_below("unified");
    } else if (has_cpu(controllers)) {
      // Mounted under all their names, mostly with a link for each.
      look_below("cpu");
      look_below(controllers);
    }
  }
  return limit;
}

int32_t count_processors() {
  const int32_t limit = count_processors_of_quota("/proc/self/cgroup", "/sys/fs/cgroup");
  return std::clamp(tighter(count_processors_of_affinity(), limit), 1, kMaxThreads);
}

}  // namespace heed::cpu
