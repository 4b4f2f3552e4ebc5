// SPDX-License-Identifier: Apache-2.0
#include "platform/processors_linux.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "platform/processors.h"

namespace heed::platform {
namespace {

// The content of a small file, or as much as fits; empty if the file cannot be read.
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

// The text before the first separator; both are removed from `rest`.
std::string_view next_part(std::string_view& rest, char separator) {
  const size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// A decimal number; -1 for any other text, such as "max".
int64_t number_of(std::string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  if (text.empty() || text.size() > 18) return -1;
  int64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return -1;
    value = value * 10 + (digit - '0');
  }
  return value;
}

// The processors that a quota of processor time in each period allows, rounded up; 0 for no limit. Both in
// microseconds.
int32_t processors_of(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int32_t>(std::min<int64_t>((quota - 1) / period + 1, INT32_MAX));
}

// The tighter of two limits; 0 means no limit.
int32_t tighter(int32_t a, int32_t b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

// The limit of one control group, by the files of version 1 or 2 in its folder below the hierarchy's mount.
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

// The tightest limit of the group and its parents, up to the hierarchy's mount. In a container the group's path may be
// the one outside the container, whose folders do not exist inside; then the mount itself is the container's group.
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
  // Many times the number that Linux kernels are built for; a kernel refuses a set that is smaller than its own.
  constexpr size_t kMaxProcessors = 16384;
  cpu_set_t set[kMaxProcessors / CHAR_BIT / sizeof(cpu_set_t)];
  if (::sched_getaffinity(0, sizeof set, set) == 0) return CPU_COUNT_S(sizeof set, set);
  return static_cast<int32_t>(::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

int32_t count_processors_of_quota(const char* groups, const char* root) noexcept {
  char text[4096];
  std::string_view lines = read_file(groups, text);
  int32_t limit = 0;
  while (!lines.empty()) {
    // number:controllers:path; version 2 has no controllers.
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
      // The mount of version 2 beside version 1.
      look_below("unified");
    } else if (has_cpu(controllers)) {
      // The folder's name lists all its controllers; usually there is also a link for each controller.
      look_below("cpu");
      look_below(controllers);
    }
  }
  return limit;
}

int32_t count_processors() noexcept {
  const int32_t limit = count_processors_of_quota("/proc/self/cgroup", "/sys/fs/cgroup");
  return std::max(tighter(count_processors_of_affinity(), limit), 1);
}

}  // namespace heed::platform
