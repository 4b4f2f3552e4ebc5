// SPDX-License-Identifier: Apache-2.0
#include "layers/weight_finder.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/shown_text.h"

namespace heed {
namespace {

// What in the options gives a layer a parameter that it lacks, for sentences.
constexpr struct {
  const char* parameter;
  const char* option;
} kOptions[] = {
    {"W_q.bias", "HEED_BIAS_Q in options->biases"},    {"W_k.bias", "HEED_BIAS_K in options->biases"},
    {"W_v.bias", "HEED_BIAS_V in options->biases"},    {"W_o.bias", "HEED_BIAS_O in options->biases"},
    {"W_o.weight", "options->no_output_projection 0"}, {"w_v.weight", "HEED_SCORING_ADDITIVE in options->scoring"},
};

const char* option_of(std::string_view parameter) {
  for (const auto& row : kOptions) {
    if (parameter == row.parameter) return row.option;
  }
  return nullptr;
}

std::string quoted(std::string_view text) { return "\"" + shown(text) + "\""; }

std::string prefixed(std::string_view prefix, const NameStyle& style, std::string_view name) {
  std::string whole;
  whole.reserve(prefix.size() + 1 + name.size() + std::string_view(style.ending).size());
  whole += prefix;
  if (!prefix.empty()) whole += style.separator;
  for (const char c : name) whole += c == '.' ? style.separator : c;
  return whole + style.ending;
}

// A layout in one of its styles, seen by a layer.
struct Candidate {
  const char* title;
  NameStyle style;
  std::span<const char* const> refused;
  // Of each parameter of the layer, in order.
  std::vector<WeightSource> wanted;
  // Of parameters that the layer lacks.
  std::vector<WeightSource> unwanted;
};

class Finder {
 public:
  Finder(const SafetensorsFile& file, std::string_view prefix, std::span<const Parameter> parameters,
         const char* const* possible)
      : file_(file), prefix_(prefix), parameters_(parameters) {
    add_own_layout(possible);
    for (const WeightLayout& layout : foreign_layouts()) add(layout);
  }

  std::vector<FoundWeight> find() const {
    std::vector<const Candidate*> complete;
    for (const Candidate& candidate : candidates_) {
      if (num_found(candidate, prefix_) == candidate.wanted.size()) complete.push_back(&candidate);
    }
    if (complete.empty()) fail_not_found();
    std::vector<FoundWeight> found = weights_of(*complete.front());
    for (const Candidate* candidate : complete) {
      // Layouts that differ only in parameters that this layer lacks may name the same tensors.
      const std::vector<FoundWeight> others = weights_of(*candidate);
      const auto same_name = [](const FoundWeight& a, const FoundWeight& b) { return a.name == b.name; };
      if (!std::equal(found.begin(), found.end(), others.begin(), same_name))
        fail_ambiguous(*complete.front(), *candidate);
    }
    for (const Candidate* candidate : complete) check_others(*candidate);
    return found;
  }

 private:
  // A layer that has W_q.weight reads it from "W_q.weight".
  void add_own_layout(const char* const* possible) {
    std::vector<WeightSource> sources;
    for (const Parameter& parameter : parameters_) sources.push_back({parameter.name(), parameter.name()});
    for (; *possible != nullptr; ++possible) {
      if (!is_parameter(*possible)) sources.push_back({*possible, *possible});
    }
    add({"heed", sources, {}});
  }

  // Leaves out layouts that cannot hold the layer at all.
  void add(const WeightLayout& layout) {
    Candidate candidate{layout.title, {}, layout.refused, {}, {}};
    candidate.wanted.reserve(layout.sources.size());
    candidate.unwanted.reserve(layout.sources.size());
    for (const Parameter& parameter : parameters_) {
      for (const WeightSource& source : layout.sources) {
        if (std::string_view(source.parameter) == parameter.name()) candidate.wanted.push_back(source);
      }
    }
    if (candidate.wanted.size() != parameters_.size()) return;
    for (const WeightSource& source : layout.sources) {
      if (!is_parameter(source.parameter)) candidate.unwanted.push_back(source);
    }
    for (const NameStyle& style : layout.styles) {
      candidate.style = style;
      candidates_.push_back(candidate);
    }
  }

  bool is_parameter(std::string_view name) const {
    return std::any_of(parameters_.begin(), parameters_.end(),
                       [&](const Parameter& parameter) { return name == parameter.name(); });
  }

  size_t num_found(const Candidate& candidate, std::string_view prefix) const {
    size_t count = 0;
    for (const WeightSource& source : candidate.wanted)
      count += file_.contains(prefixed(prefix, candidate.style, source.name)) ? 1 : 0;
    return count;
  }

  std::vector<FoundWeight> weights_of(const Candidate& candidate) const {
    std::vector<FoundWeight> found;
    found.reserve(candidate.wanted.size());
    for (const WeightSource& source : candidate.wanted)
      found.push_back({prefixed(prefix_, candidate.style, source.name), source});
    return found;
  }

  // What the layout has besides, and the layer would leave out.
  void check_others(const Candidate& candidate) const {
    for (const WeightSource& source : candidate.unwanted) {
      if (!file_.contains(prefixed(prefix_, candidate.style, source.name))) continue;
      const char* option = option_of(source.parameter);
      fail(Status::InvalidArgument, "%s has %s, a parameter that this layer's options lack: %s", file_text().c_str(),
           tensor_text(candidate, source).c_str(),
           (option == nullptr ? "it has " + joined_names(parameters_) : std::string("expected ") + option).c_str());
    }
    for (const char* refused : candidate.refused) {
      const std::string name = prefixed(prefix_, candidate.style, refused);
      if (!file_.contains(name)) continue;
      fail(Status::Unsupported, "%s has %s, which changes what %s computes, and heed has no option for it",
           file_text().c_str(), quoted(name).c_str(), candidate.title);
    }
  }

  // As `"encoder.in_proj_bias" for W_q.bias`.
  std::string tensor_text(const Candidate& candidate, const WeightSource& source) const {
    const std::string name = quoted(prefixed(prefix_, candidate.style, source.name));
    return std::string_view(source.name) == source.parameter ? name : name + " for " + source.parameter;
  }

  std::string file_text() const { return quoted(file_.path()); }

  // As `under the prefix "encoder"`.
  static std::string place_text(std::string_view prefix) {
    return prefix.empty() ? "without a prefix" : "under the prefix " + quoted(prefix);
  }

  [[noreturn]] void fail_ambiguous(const Candidate& first, const Candidate& second) const {
    fail(Status::InvalidArgument,
         "%s has this layer's parameters twice %s: by the names of %s, as %s, and by those of %s, as %s; expected one",
         file_text().c_str(), place_text(prefix_).c_str(), first.title,
         quoted(prefixed(prefix_, first.style, first.wanted.front().name)).c_str(), second.title,
         quoted(prefixed(prefix_, second.style, second.wanted.front().name)).c_str());
  }

  [[noreturn]] void fail_not_found() const {
    const Candidate* nearest = &candidates_.front();
    size_t most = 0;
    for (const Candidate& candidate : candidates_) {
      const size_t count = num_found(candidate, prefix_);
      if (count > most) {
        most = count;
        nearest = &candidate;
      }
    }
    const auto missing = std::find_if(nearest->wanted.begin(), nearest->wanted.end(), [&](const WeightSource& source) {
      return !file_.contains(prefixed(prefix_, nearest->style, source.name));
    });
    std::string text = file_text() + " has no tensor " + tensor_text(*nearest, *missing);
    const std::string elsewhere = elsewhere_text();
    if (most == 0) {
      text += ", nor the names by which other frameworks call it" + (elsewhere.empty() ? instead_text() : elsewhere);
    } else {
      const char* option = option_of(missing->parameter);
      if (option != nullptr && std::string_view(missing->parameter).ends_with(".bias"))
        text += std::string(", which ") + option + " asks for";
      const std::string count = "; it has " + std::to_string(most) + " of the " + std::to_string(parameters_.size()) +
                                " parameters by the names of " + nearest->title;
      // Where long names leave no room for both, the place where the layer may lie is of more use.
      if (text.size() + count.size() + elsewhere.size() < kErrorCapacity) text += count;
      text += elsewhere;
    }
    fail(Status::NotFound, "%s", text.c_str());
  }

  // A layout that is complete under another prefix.
  struct Elsewhere {
    const Candidate* candidate = nullptr;
    std::string prefix;
    size_t num_others = 0;
  };

  // The one whose prefix begins most like the given one; the first of several. Layouts that share names may be complete
  // in one place, which counts once.
  Elsewhere find_elsewhere() const {
    Elsewhere best;
    std::set<std::string_view> places;
    size_t best_length = 0;
    for (const Candidate& candidate : candidates_) {
      const std::string ending = prefixed("", candidate.style, candidate.wanted.front().name);
      for (size_t i = 0; i < file_.num_tensors(); ++i) {
        const std::optional<std::string_view> prefix = prefix_before(file_.name(i), ending, candidate.style.separator);
        if (!prefix || num_found(candidate, *prefix) != candidate.wanted.size()) continue;
        if (!places.insert(*prefix).second) continue;
        const size_t length = common_length(*prefix, prefix_);
        if (best.candidate != nullptr) ++best.num_others;
        if (best.candidate != nullptr && length <= best_length) continue;
        best.candidate = &candidate;
        best.prefix = *prefix;
        best_length = length;
      }
    }
    return best;
  }

  // Nothing when `name` is not a prefix, a separator (both may be absent) and `ending`.
  static std::optional<std::string_view> prefix_before(std::string_view name, std::string_view ending, char separator) {
    if (!name.ends_with(ending)) return std::nullopt;
    const std::string_view rest = name.substr(0, name.size() - ending.size());
    if (rest.empty()) return rest;
    if (rest.back() != separator) return std::nullopt;
    return rest.substr(0, rest.size() - 1);
  }

  static size_t common_length(std::string_view a, std::string_view b) {
    size_t length = 0;
    while (length < a.size() && length < b.size() && a[length] == b[length]) ++length;
    return length;
  }

  // The end of a sentence: where else the layer may lie. Empty when nowhere.
  std::string elsewhere_text() const {
    const Elsewhere elsewhere = find_elsewhere();
    if (elsewhere.candidate == nullptr) return "";
    std::string text =
        std::string("; found the names of ") + elsewhere.candidate->title + " " + place_text(elsewhere.prefix);
    if (elsewhere.num_others > 0) text += " and " + std::to_string(elsewhere.num_others) + " more";
    return text;
  }

  // The same where there is no such place: what the file has.
  std::string instead_text() const {
    size_t num_below = 0;
    const std::string* example = nullptr;
    for (size_t i = 0; i < file_.num_tensors(); ++i) {
      if (file_.name(i).starts_with(prefix_) && num_below++ == 0) example = &file_.name(i);
    }
    const std::string num_tensors = std::to_string(file_.num_tensors());
    if (file_.num_tensors() == 0) return "; it has no tensors at all";
    if (prefix_.empty()) return "; its " + num_tensors + " tensors have other names, as " + quoted(*example);
    if (num_below == 0) return "; none of its " + num_tensors + " tensors begins with " + quoted(prefix_);
    return "; " + std::to_string(num_below) + " of its " + num_tensors + " tensors begin with " + quoted(prefix_) +
           ", as " + quoted(*example);
  }

  const SafetensorsFile& file_;
  std::string_view prefix_;
  std::span<const Parameter> parameters_;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::vector<FoundWeight> find_weights(const SafetensorsFile& file, std::string_view prefix,
                                      std::span<const Parameter> parameters, const char* const* possible) {
  if (parameters.empty()) return {};
  return Finder(file, prefix, parameters, possible).find();
}

}  // namespace heed
