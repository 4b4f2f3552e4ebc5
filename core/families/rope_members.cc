// SPDX-License-Identifier: Apache-2.0
#include "families/known_settings.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/shown_text.h"
#include "families/families.h"

namespace heed {
namespace {

// Arrays, since a pointer to each name would need a relocation. Null is none where it is a value.
struct Member {
  Json json;
  bool may_be_null;
  char name[34];
};
constexpr Member kMembers[] = {{Json::Above0, true, "attention_factor"},
                               {Json::Above0, true, "beta_fast"},
                               {Json::Above0, true, "beta_slow"},
                               {Json::Above0, true, "factor"},
                               {Json::Above0, true, "high_freq_factor"},
                               {Json::Numbers, true, "long_factor"},
                               {Json::Above0, true, "long_mscale"},
                               {Json::Above0, true, "low_freq_factor"},
                               {Json::Numbers, true, "mrope_section"},
                               {Json::Number, true, "mscale"},
                               {Json::Number, true, "mscale_all_dim"},
                               {Json::Count, true, "original_max_position_embeddings"},
                               {Json::Above0, true, "partial_rotary_factor"},
                               {Json::Above0, false, "rope_theta"},
                               {Json::Word, false, "rope_type"},
                               {Json::Numbers, true, "short_factor"},
                               {Json::Above0, true, "short_mscale"},
                               {Json::Flag, false, "truncate"},
                               {Json::Word, false, "type"}};
constexpr const char* kKinds[] = {"full_attention", "sliding_attention"};

class RopeMembers {
 public:
  RopeMembers(const ModelConfig& config, const Family& family, const LoadAccept& accept)
      : config_(config), family_(family), accept_(accept) {}

  // Of the object at the path, if it is there.
  void require_known(const std::string& path) const {
    const bool has_kinds =
        family_.positions.window_base.otherwise != 0 &&
        std::ranges::any_of(kKinds, [&](const char* kind) { return config_.has(path_of_member(path, kind)); });
    if (has_kinds) {
      for (const char* const kind : kKinds) require_json(config_, path_of_member(path, kind), Json::Object, false);
    }
    for (const std::string& name : config_.members(path)) {
      const std::string inner = path_of_member(path, name);
      if (!has_kinds) {
        require_member(inner, name);
      } else if (std::ranges::find(kKinds, name) != std::end(kKinds)) {
        for (const std::string& of_kind : config_.members(inner))
          require_member(path_of_member(inner, of_kind), of_kind);
        require_numbers(inner);
      } else {
        refuse(inner);
      }
    }
    if (!has_kinds) require_numbers(path);
  }

 private:
  void require_member(const std::string& path, std::string_view name) const {
    const Member* const member = std::ranges::find(kMembers, name, [](const Member& row) { return row.name; });
    if (member == std::end(kMembers)) return refuse(path);
    require_json(config_, path, member->json, member->may_be_null);
    // It may say that the whole head is rotated.
    constexpr Setting kPart = Setting::PartialRotaryFactor;
    if (name == name_of(kPart) && !has_setting(family_, kPart) && config_.number(path).value_or(1) != 1)
      refuse_of_another_family(config_, path, family_);
  }

  void refuse(const std::string& path) const {
    // As for other settings.
    if (!config_.has(path) || config_.flag(path) == false || accept_.has(path)) return;
    fail(Status::Unsupported,
         "%s has %s, which rotary positions of model_type \"%s\" do not have as heed knows them: expected a "
         "configuration without it%s",
         in_quotes(config_.path()).c_str(), in_quotes(path).c_str(), std::string(family_.model_types).c_str(),
         accept_.offer(shown(path)).c_str());
  }

  // The numbers without which a type of scaling is another one.
  void require_numbers(const std::string& path) const {
    std::string_view type = config_.text(path + ".rope_type").value_or("");
    if (type.empty()) type = config_.text(path + ".type").value_or("");
    constexpr const char* kLength = "original_max_position_embeddings";
    // Files of earlier transformers have the original length beside the object of rotary settings, not in it.
    const bool has_length = config_.number(path_of_member(path, kLength)) || config_.number(kLength);
    const bool is_llama3 = type == "llama3";
    for (const char* const name : {"factor", "low_freq_factor", "high_freq_factor", kLength}) {
      const bool is_factor = name == std::string_view("factor");
      // A factor of YaRN may be the quotient of two lengths.
      const bool is_needed = is_llama3 || (is_factor && (type == "linear" || (type == "yarn" && !has_length)));
      const std::string inner = path_of_member(path, name);
      if (!is_needed || config_.number(inner) || (name == kLength && has_length)) continue;
      fail(Status::InvalidArgument,
           "%s lacks the setting %s, which rotary positions of type %s need: expected a number",
           in_quotes(config_.path()).c_str(), in_quotes(inner).c_str(), in_quotes(type).c_str());
    }
    if (is_llama3) require_order(path_of_member(path, "low_freq_factor"), path_of_member(path, "high_freq_factor"));
  }

  // The classes divide by their difference.
  void require_order(const std::string& low, const std::string& high) const {
    if (*config_.number(low) < *config_.number(high)) return;
    fail(Status::InvalidArgument, "%s says %s for the setting %s, expected a number above %s, which is %s",
         in_quotes(config_.path()).c_str(), config_.text_of_value(high).c_str(), in_quotes(high).c_str(),
         in_quotes(low).c_str(), config_.text_of_value(low).c_str());
  }

  const ModelConfig& config_;
  const Family& family_;
  const LoadAccept& accept_;
};

bool is_same(const ModelConfig& config, const std::string& path, const std::string& other) {
  const std::vector<std::string> names = config.members(path);
  return names == config.members(other) && config.text_of_value(path) == config.text_of_value(other) &&
         std::ranges::all_of(names, [&](const std::string& name) {
           return is_same(config, path_of_member(path, name), path_of_member(other, name));
         });
}

// transformers 5 reads the earlier name if a file has both, and heed the later one.
void require_one_name(const ModelConfig& config) {
  const std::string later = name_of(Setting::RopeParameters);
  const std::string earlier = name_of(Setting::RopeScaling);
  if (config.members(later).empty() || config.members(earlier).empty() || is_same(config, later, earlier)) return;
  refuse_two_names(config, later, earlier);
}

}  // namespace

void require_rope_members(const ModelConfig& config, const Family& family, const LoadAccept& accept) {
  const RopeMembers members(config, family, accept);
  for (const Setting setting : {Setting::RopeParameters, Setting::RopeScaling}) {
    if (config.has(name_of(setting))) members.require_known(name_of(setting));
  }
  require_one_name(config);
}

}  // namespace heed
