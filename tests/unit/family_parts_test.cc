// SPDX-License-Identifier: Apache-2.0
// docs/models.md has a table of the parts that models of each family have: it says what the records say.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "families/families.h"

namespace heed {
namespace {

void append(std::string& list, const std::string& word) { list += (list.empty() ? "" : ", ") + word; }

// The cells of one family, behind its name.
struct Parts {
  std::string always;
  std::map<std::string, std::string> by_setting;
  std::string in_file;

  void add(const Has& has, const std::string& part) {
    switch (has.when) {
      case Has::When::Never: break;
      case Has::When::Always: append(always, part); break;
      case Has::When::InFile: append(in_file, part); break;
      case Has::When::IfSet:
      case Has::When::UnlessUnset:
        const char* const otherwise = has.when == Has::When::UnlessUnset ? "true" : "false";
        append(by_setting["`" + std::string(name_of(has.by)) + "` (" + otherwise + ")"], part);
        break;
    }
  }
  std::string cells() const {
    const auto cell = [](const std::string& text) { return (text.empty() ? "-" : text) + " | "; };
    std::string settings;
    for (const auto& [setting, parts] : by_setting) settings += (settings.empty() ? "" : "; ") + setting + ": " + parts;
    const std::string whole = cell(always) + cell(settings) + cell(in_file);
    return whole.substr(0, whole.size() - 1);
  }
};

std::string cells_of(const Family& family) {
  Parts parts;
  parts.add(family.attention.qkv_biases, family.attention.no_key_bias ? "biases of q, v" : "biases of q, k, v");
  parts.add(family.attention.output_bias, "bias of o");
  if (family.attention.qk_norm != QkNormRule::Unknown) parts.add(kAlways, "norms of q and k");
  parts.add(family.feed_forward.gate, "gate");
  parts.add(family.feed_forward.biases, "biases of the feed-forward network");
  parts.add(family.norms.biases, "biases of norms");
  parts.add(family.head.bias, "`final_logits_bias`");
  return parts.cells();
}

std::vector<std::string> expected_rows() {
  std::vector<std::pair<std::string, std::string>> rows;  // names and cells
  for (const std::span<const Family> families : all_families()) {
    for (const Family& family : families) {
      if (family.kind == ModelKind::None) continue;
      const std::string name = "`" + std::string(family.model_types) + "`";
      const std::string cells = cells_of(family);
      const auto same = std::ranges::find(rows, cells, &std::pair<std::string, std::string>::second);
      if (same == rows.end())
        rows.emplace_back(name, cells);
      else
        append(same->first, name);
    }
  }
  std::vector<std::string> lines;
  lines.reserve(rows.size());
  for (const auto& [names, cells] : rows) lines.push_back("| " + names + " | " + cells);
  return lines;
}

TEST(FamilyParts, AreInTheDocs) {
  std::ifstream page(HEED_SOURCE_DIR "/docs/models.md");
  std::vector<std::string> rows;
  bool is_in_table = false;
  for (std::string line; std::getline(page, line);) {
    if (is_in_table && !line.starts_with("|")) break;
    if (is_in_table && !line.starts_with("|---")) rows.push_back(line);
    is_in_table = is_in_table || line.starts_with("| `model_type` | always |");
  }
  std::string expected;
  for (const std::string& row : expected_rows()) expected += row + "\n";
  std::string actual;
  for (const std::string& row : rows) actual += row + "\n";
  EXPECT_EQ(actual, expected);
}

}  // namespace
}  // namespace heed
