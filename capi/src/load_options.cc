// SPDX-License-Identifier: Apache-2.0
#include "load_options.h"

#include <string>
#include <string_view>

#include "arguments.h"

namespace heed::capi {
namespace {

// The sizes in the first version of each struct.
constexpr size_t kFirstProgressSize = 24;
constexpr size_t kFirstLoadOptionsSize = 16;

}  // namespace

Progress read_progress(const heed_progress& progress, const char* name) {
  const heed_progress read = read_struct(&progress, HEED_PROGRESS_INIT, kFirstProgressSize, name, "HEED_PROGRESS_INIT");
  if (read.report == nullptr) require(read.report, (std::string(name) + "->report").c_str());
  return {read.report, read.user};
}

LoadOptions read_load_options(const heed_load_options* options, const char* name, const char* progress_name) {
  const heed_load_options read =
      read_struct(options, HEED_LOAD_OPTIONS_INIT, kFirstLoadOptionsSize, name, "HEED_LOAD_OPTIONS_INIT");
  LoadOptions result;
  if (read.accept != nullptr) result.accept = read.accept;
  if (read.progress != nullptr) result.progress = read_progress(*read.progress, progress_name);
  result.progress_name = progress_name;
  // The options of heed_model_create have them as a member.
  const bool is_member = std::string_view(name) != "options";
  require_zero(read.reserved, is_member ? OPTION("load->reserved") : OPTION("reserved"));
  result.widens = read_flag(read.widen, is_member ? OPTION("load->widen") : OPTION("widen"));
  return result;
}

}  // namespace heed::capi
