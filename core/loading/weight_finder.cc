// SPDX-License-Identifier: Apache-2.0
#include "loading/weight_finder.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/shown_text.h"
#include "families/load_accept.h"

namespace heed {
namespace {

// The feature that a parameter belongs to; null: none.
const char* feature_of(const PossibleParameter* parameter) {
  switch (parameter == nullptr ? ParameterFeature::None : parameter->feature) {
    case ParameterFeature::None: break;
    case ParameterFeature::QkNorm: return feature::kQkNorm;
    case ParameterFeature::Sinks: return feature::kSinks;
    case ParameterFeature::RelativeBias: return feature::kRelativeBias;
  }
  return nullptr;
}

std::string prefixed(std::string_view prefix, const NameStyle& style, std::string_view name) {
  std::string whole;
  whole.reserve(prefix.size() + 1 + name.size() + std::string_view(style.ending).size());
  whole += prefix;
  if (!prefix.empty() && !name.empty()) whole += style.separator;
  for (const char c : name) whole += c == '.' ? style.separator : c;
  return whole + style.ending;
}

// The parameter's module: "self.query." for "self.query.weight", nothing for "in_proj_weight".
std::string_view module_of(std::string_view name) { return name.substr(0, name.rfind('.') + 1); }

// The module that contains the parameter's module: "self." for "self.query.weight", nothing for "query.weight".
std::string_view parent_of(std::string_view name) {
  const std::string_view module = module_of(name);
  return module.empty() ? module : module_of(module.substr(0, module.size() - 1));
}

// The same module in the first layer: the first number of the prefix becomes 0. Nothing if it has no number.
std::optional<std::string> first_layer_of(std::string_view prefix, char separator) {
  size_t begin = 0;
  while (begin <= prefix.size()) {
    const size_t end = std::min(prefix.find(separator, begin), prefix.size());
    const std::string_view part = prefix.substr(begin, end - begin);
    if (!part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos)
      return std::string(prefix.substr(0, begin)) + "0" + std::string(prefix.substr(end));
    begin = end + 1;
  }
  return std::nullopt;
}

// Modules that hold several projections in one tensor, in an order or form that no layout describes.
constexpr struct {
  const char* module;
  const char* what;
} kPacked[] = {
    {"W_pack", "packs queries, keys and values one after another"},
    {"kv_a_proj_with_mqa", "holds keys and values compressed (multi-head latent attention)"},
};

// A layout in one of its name styles, with its parameters split by whether the layer has them.
struct Candidate {
  const char* layout_name;
  const char* last_module;
  NameStyle style;
  std::span<const char* const> refused;
  // The sources of the layer's parameters, in the layer's order.
  std::vector<WeightSource> wanted;
  // The sources of parameters that the layer lacks.
  std::vector<WeightSource> unwanted;
};

// For example "W_q.bias, W_k.bias".
std::string joined(const std::vector<std::string>& texts, const char* separator = ", ") {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : separator) + text;
  return all;
}

bool is_bias_of_projection(std::string_view parameter) { return parameter.ends_with(".bias"); }

class LayoutSearch {
 public:
  LayoutSearch(const SafetensorsFile& file, std::string_view prefix, std::span<const Parameter> parameters,
               std::span<const PossibleParameter> possible, const WeightSentences& sentences)
      : file_(file), prefix_(prefix), parameters_(parameters), possible_(possible), sentences_(sentences) {
    add_own_layout();
    for (const WeightLayout& layout : foreign_layouts()) add(layout);
  }

  FoundWeights find() const {
    std::vector<const Candidate*> complete;
    for (const Candidate& candidate : candidates_) {
      if (is_complete(candidate, prefix_)) complete.push_back(&candidate);
    }
    if (complete.empty()) fail_not_found();
    std::vector<FoundWeight> found = weights_of(*complete.front());
    for (const Candidate* candidate : complete) {
      // Two layouts may name the same tensors if they differ only in parameters that this layer lacks.
      const std::vector<FoundWeight> candidate_weights = weights_of(*candidate);
      const auto same_name = [](const FoundWeight& a, const FoundWeight& b) { return a.name == b.name; };
      if (!std::equal(found.begin(), found.end(), candidate_weights.begin(), same_name))
        fail_ambiguous(*complete.front(), *candidate);
    }
    for (const Candidate* candidate : complete) check_lacking(*candidate);
    std::vector<LackingWeight> lacking;
    for (const Candidate* candidate : complete) add_lacking(*candidate, lacking);
    std::set<std::string> known;
    std::vector<UnsupportedTensor> changing;
    for (const Candidate* candidate : complete) {
      add_known(*candidate, known);
      add_refused(*candidate, changing);
    }
    for (const Candidate* candidate : complete) add_inside_modules(*candidate, changing);
    // Keep the first occurrence of each name, in the order found.
    std::set<std::string> seen;
    std::erase_if(changing, [&](const UnsupportedTensor& tensor) { return !seen.insert(tensor.name).second; });
    return {complete.front()->layout_name, std::move(found),    complete.front()->style.separator,
            {known.begin(), known.end()},  std::move(changing), std::move(lacking)};
  }

  void add_missing(std::string_view layout_name, MissingTensors& all) const {
    const Candidate* const named = find_named(layout_name);
    const Candidate& nearest = find_nearest();
    const bool is_named = named != nullptr && num_found(*named, prefix_) >= num_found(nearest, prefix_);
    const Candidate& candidate = is_named ? *named : nearest;
    for (const WeightSource* const source : missing_of(candidate)) {
      // One tensor of the first layer serves all of them.
      const std::optional<std::string> first =
          source->is_in_first_layer ? first_layer_of(prefix_, candidate.style.separator) : std::nullopt;
      std::string name = prefixed(first ? *first : prefix_, candidate.style, source->name);
      if (std::ranges::find(all.names, name) != all.names.end()) continue;
      if (all.names.empty()) all.first_parameter = source->parameter;
      all.names.push_back(std::move(name));
    }
  }

 private:
  // heed's own layout: the parameter W_q.weight is read from the tensor "W_q.weight".
  void add_own_layout() {
    std::vector<WeightSource> sources;
    for (const Parameter& parameter : parameters_) sources.push_back({parameter.name(), parameter.name()});
    for (const PossibleParameter& row : possible_) {
      if (!is_parameter(row.name)) sources.push_back({row.name, row.name});
    }
    add({kOwnLayout, sources, {}, kDotted, nullptr});
  }

  // Adds the layout in each of its styles, unless it lacks one of the layer's parameters.
  void add(const WeightLayout& layout) {
    Candidate candidate{layout.name, layout.last_module, {}, layout.refused, {}, {}};
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

  // The row of the kind's table; null: none.
  const PossibleParameter* possible_parameter(std::string_view name) const {
    for (const PossibleParameter& row : possible_) {
      if (name == row.name) return &row;
    }
    return nullptr;
  }
  const char* feature_of(const char* parameter) const { return heed::feature_of(possible_parameter(parameter)); }

  // Whether the parameter is one of those of options->biases.
  bool has_bias_bit(const char* parameter) const {
    const PossibleParameter* row = possible_parameter(parameter);
    return row != nullptr && row->bias_bit.bit != 0;
  }

  // The option that adds a parameter to the layer, for messages; "": none.
  std::string option_of(std::string_view parameter) const {
    if (sentences_.bias_option != nullptr && parameter == "bias") return sentences_.bias_option;
    const PossibleParameter* row = possible_parameter(parameter);
    if (row == nullptr) return "";
    if (row->bias_bit.bit != 0) return std::string(row->bias_bit.constant) + " in " OPTION("biases");
    return row->option == nullptr ? "" : row->option;
  }

  // The name of the tensor that holds the source.
  std::string name_of(const Candidate& candidate, const WeightSource& source, std::string_view prefix) const {
    std::string name = prefixed(prefix, candidate.style, source.name);
    if (!source.is_in_first_layer || file_.contains(name)) return name;
    const std::optional<std::string> first = first_layer_of(prefix, candidate.style.separator);
    if (!first) return name;
    std::string of_first = prefixed(*first, candidate.style, source.name);
    return file_.contains(of_first) ? of_first : name;
  }
  std::string name_of(const Candidate& candidate, const WeightSource& source) const {
    return name_of(candidate, source, prefix_);
  }
  bool has(const Candidate& candidate, const WeightSource& source) const {
    return file_.contains(name_of(candidate, source));
  }

  size_t num_found(const Candidate& candidate, std::string_view prefix) const {
    size_t count = 0;
    for (const WeightSource& source : candidate.wanted)
      count += file_.contains(name_of(candidate, source, prefix)) ? 1 : 0;
    return count;
  }

  static bool fits_prefix(const Candidate& candidate, std::string_view prefix) {
    return candidate.last_module == nullptr ||
           prefix.substr(prefix.rfind(candidate.style.separator) + 1) == candidate.last_module;
  }

  bool is_complete(const Candidate& candidate, std::string_view prefix) const {
    return fits_prefix(candidate, prefix) && num_found(candidate, prefix) == candidate.wanted.size();
  }

  std::vector<FoundWeight> weights_of(const Candidate& candidate) const {
    std::vector<FoundWeight> found;
    found.reserve(candidate.wanted.size());
    for (const WeightSource& source : candidate.wanted) found.push_back({name_of(candidate, source), source});
    return found;
  }

  // options->biases with the value that matches the biases in the file. Only of a kind that has this option.
  std::string fitting_biases(const Candidate& candidate) const {
    int32_t bits = 0;
    std::vector<std::string> constants;
    for (const PossibleParameter& row : possible_) {
      if (row.bias_bit.bit == 0) continue;
      for (const auto* sources : {&candidate.wanted, &candidate.unwanted}) {
        for (const WeightSource& source : *sources) {
          if (std::string_view(source.parameter) != row.name || !has(candidate, source)) continue;
          bits |= row.bias_bit.bit;
          constants.emplace_back(row.bias_bit.constant);
        }
      }
    }
    if (bits == 0) return sentences_.biases.none;
    if (bits == sentences_.biases.all_bits) return sentences_.biases.all;
    return OPTION("biases") " " + joined(constants, WORD(" | "));
  }

  // Adds the parameters of this layout that the layer would ignore and that belong to a feature.
  void add_lacking(const Candidate& candidate, std::vector<LackingWeight>& lacking) const {
    // The first T5 files have a table in the decoder's first cross attention, and no release of T5 read it.
    const bool is_ignored = prefix_.ends_with("EncDecAttention");
    for (const WeightSource& source : candidate.unwanted) {
      const char* feature = feature_of(source.parameter);
      if (feature == nullptr || !has(candidate, source) || (is_ignored && source.is_in_first_layer)) continue;
      std::string name = name_of(candidate, source);
      const bool is_listed =
          std::any_of(lacking.begin(), lacking.end(), [&](const LackingWeight& other) { return other.name == name; });
      if (!is_listed) lacking.push_back({std::move(name), feature});
    }
  }

  // Fails if the file has another parameter of this layout that the layer would ignore.
  void check_lacking(const Candidate& candidate) const {
    std::vector<const WeightSource*> lacking;
    for (const WeightSource& source : candidate.unwanted) {
      if (feature_of(source.parameter) == nullptr && has(candidate, source)) lacking.push_back(&source);
    }
    if (lacking.empty()) return;
    const std::string option = option_of(lacking.front()->parameter);
    const std::string expected = option.empty() ? "it has " + joined_names(parameters_) : "expected " + option;
    fail(Status::InvalidArgument, "%s has %s, a parameter that this " WORD("layer") "'s options lack: %s%s",
         file_text().c_str(), tensor_text(candidate, *lacking.front()).c_str(), expected.c_str(),
         others_text(candidate, lacking).c_str());
  }

  // If the file has more than one parameter that the layer lacks: the rest of the sentence, with the options that the
  // others need. Otherwise "".
  std::string others_text(const Candidate& candidate, const std::vector<const WeightSource*>& lacking) const {
    if (lacking.size() < 2) return "";
    const std::span after_first(lacking.begin() + 1, lacking.end());
    std::vector<std::string> names;
    std::vector<std::string> options;
    for (const WeightSource* source : after_first) {
      names.emplace_back(source->parameter);
      std::string option = has_bias_bit(source->parameter) ? fitting_biases(candidate) : option_of(source->parameter);
      if (option.empty() || std::ranges::find(options, option) != options.end()) continue;
      options.push_back(std::move(option));
    }
    return ", and as it has " + joined(names) + " too, " + joined(options, " and ");
  }

  void add_known(const Candidate& candidate, std::set<std::string>& known) const {
    for (const auto* sources : {&candidate.wanted, &candidate.unwanted}) {
      for (const WeightSource& source : *sources) known.insert(name_of(candidate, source));
    }
  }

  void add_refused(const Candidate& candidate, std::vector<UnsupportedTensor>& changing) const {
    const std::string parent(parent_of(candidate.wanted.front().name));
    for (const char* refused : candidate.refused) {
      std::string name = prefixed(prefix_, candidate.style, parent + refused);
      if (file_.contains(name)) changing.push_back({std::move(name), candidate.layout_name});
    }
  }

  // Any other tensor in a projection's module takes part in its computation, such as an adapter (LoRA) or the scale of
  // a quantised weight.
  void add_inside_modules(const Candidate& candidate, std::vector<UnsupportedTensor>& changing) const {
    std::set<std::string> known;
    add_known(candidate, known);
    std::set<std::string> modules;
    for (const auto* sources : {&candidate.wanted, &candidate.unwanted}) {
      for (const WeightSource& source : *sources) {
        const std::string_view module = module_of(source.name);
        // A linear layer has no submodule: the prefix itself names its module.
        if (module.empty() && std::string_view(source.parameter) != "weight") continue;
        std::string name = prefixed(prefix_, {candidate.style.separator}, module);
        if (module.empty() && !prefix_.empty()) name += candidate.style.separator;
        modules.insert(std::move(name));
      }
    }
    for (size_t i = 0; i < file_.num_tensors(); ++i) {
      const std::string name(file_.name(i));
      const bool is_inside = std::any_of(modules.begin(), modules.end(),
                                         [&](const std::string& module) { return name.starts_with(module); });
      if (is_inside && known.count(name) == 0) changing.push_back({name, candidate.layout_name});
    }
  }

  // For example `"encoder.in_proj_bias" for W_q.bias`.
  std::string tensor_text(const Candidate& candidate, const WeightSource& source) const {
    const std::string name = in_quotes(prefixed(prefix_, candidate.style, source.name));
    return std::string_view(source.name) == source.parameter ? name : name + " for " + source.parameter;
  }

  std::string file_text() const { return in_quotes(file_.path()); }

  // For example `under the prefix "encoder"`.
  static std::string prefix_text(std::string_view prefix) {
    return prefix.empty() ? "without a prefix" : "under the prefix " + in_quotes(prefix);
  }

  [[noreturn]] void fail_ambiguous(const Candidate& first, const Candidate& second) const {
    fail(Status::InvalidArgument,
         "%s has this " WORD(
             "layer") "'s parameters twice %s: by the names of %s, as %s, and by those of %s, as %s; expected one",
         file_text().c_str(), prefix_text(prefix_).c_str(), first.layout_name,
         in_quotes(prefixed("", first.style, first.wanted.front().name)).c_str(), second.layout_name,
         in_quotes(prefixed("", second.style, second.wanted.front().name)).c_str());
  }

  // Fails if the file has the projections packed into one tensor.
  void check_packed() const {
    for (const auto& row : kPacked) {
      const std::string name = prefixed(prefix_, {}, row.module + std::string(".weight"));
      if (!file_.contains(name)) continue;
      fail(
          Status::Unsupported,
          "%s has %s, which %s: expected the projections apart, as \"W_q.weight\", \"W_k.weight\" and \"W_v.weight\"%s",
          file_text().c_str(), in_quotes(name).c_str(), row.what, std::string(sentences_.besides).c_str());
    }
  }

  std::vector<const WeightSource*> missing_of(const Candidate& candidate) const {
    std::vector<const WeightSource*> missing;
    for (const WeightSource& source : candidate.wanted) {
      if (!has(candidate, source)) missing.push_back(&source);
    }
    return missing;
  }

  // Text about another layout that has as many of the parameters and names the first missing one differently. "" if
  // there is none.
  std::string tie_text(const Candidate& nearest, const WeightSource& missing, size_t count) const {
    for (const Candidate& candidate : candidates_) {
      if (&candidate == &nearest || candidate.last_module != nullptr || num_found(candidate, prefix_) != count)
        continue;
      const WeightSource& other = *missing_of(candidate).front();
      if (std::string_view(other.name) == missing.name) continue;
      return " and by those of " + std::string(candidate.layout_name) + ", which lack " + tensor_text(candidate, other);
    }
    return "";
  }

  // The other missing parameters; if only biases of options->biases are missing, also its value that matches the file.
  // "" if neither applies.
  std::string missing_text(const Candidate& nearest, const std::vector<const WeightSource*>& missing) const {
    std::vector<std::string> names;
    bool are_biases = true;
    for (const WeightSource* source : missing) {
      if (source != missing.front()) names.emplace_back(source->parameter);
      are_biases = are_biases && has_bias_bit(source->parameter);
    }
    return (names.empty() ? "" : ", without " + joined(names)) +
           (are_biases ? ": expected " + fitting_biases(nearest) : "");
  }

  // The layout that has most of the parameters.
  const Candidate& find_nearest() const {
    const Candidate* nearest = &candidates_.front();
    size_t most = 0;
    for (const Candidate& candidate : candidates_) {
      const size_t count = fits_prefix(candidate, prefix_) ? num_found(candidate, prefix_) : 0;
      if (count > most) {
        most = count;
        nearest = &candidate;
      }
    }
    return *nearest;
  }

  // The layout of that name that fits the prefix; null if there is none. One whose only name is "weight" does not count unless it
  // has no optional parameters: norms, embeddings and linear layers all have a "weight".
  const Candidate* find_named(std::string_view layout_name) const {
    for (const Candidate& candidate : candidates_) {
      const bool is_general = std::string_view(candidate.wanted.front().parameter) == "weight";
      if (candidate.layout_name == layout_name && fits_prefix(candidate, prefix_) &&
          (!is_general || candidate.unwanted.empty()))
        return &candidate;
    }
    return nullptr;
  }

  [[noreturn]] void fail_not_found() const {
    check_packed();
    const Candidate* nearest = &find_nearest();
    const size_t most = num_found(*nearest, prefix_);
    const std::vector<const WeightSource*> all_missing = missing_of(*nearest);
    const WeightSource* missing = all_missing.front();
    const std::string beginning = file_text() + " has no tensor " + tensor_text(*nearest, *missing);
    const std::string elsewhere = other_prefix_text();
    if (most == 0) {
      fail_with_room(beginning, {", nor the names by which other frameworks call it"},
                     elsewhere.empty() ? contents_text() : elsewhere);
    }
    const std::string option = option_of(missing->parameter);
    const bool is_optional = is_bias_of_projection(missing->parameter) || feature_of(missing->parameter);
    fail_with_room(beginning,
                   {!option.empty() && is_optional ? ", which " + option + " asks for" : "",
                    "; it has " + std::to_string(most) + " of the " + std::to_string(parameters_.size()) +
                        " parameters by the names of " + nearest->layout_name,
                    tie_text(*nearest, *missing, most), missing_text(*nearest, all_missing)},
                   elsewhere);
  }

  // Appends details only while `ending` still fits into the error text. With long names `ending` matters more: it says
  // where to look.
  [[noreturn]] static void fail_with_room(const std::string& beginning, std::initializer_list<std::string> details,
                                          const std::string& ending) {
    std::string text = beginning;
    for (const std::string& detail : details) {
      if (size_in_c(text) + size_in_c(detail) + size_in_c(ending) < kErrorCapacity) text += detail;
    }
    fail(Status::NotFound, "%s", (text + ending).c_str());
  }

  // A layout that is complete under another prefix than the given one.
  struct OtherPrefix {
    const Candidate* candidate = nullptr;
    std::string prefix;
    size_t num_others = 0;  // other prefixes where a layout is complete
  };

  // Returns the prefix whose beginning and end match the given one best, since the caller may have left out a module or
  // the wrapper's name. If several match equally well, the first.
  OtherPrefix find_other_prefix() const {
    OtherPrefix best;
    size_t best_likeness = 0;
    // Several layouts may be complete under one prefix.
    std::set<std::string_view> prefixes;
    for (const Candidate& candidate : candidates_) {
      const std::string ending = prefixed("", candidate.style, candidate.wanted.front().name);
      for (size_t i = 0; i < file_.num_tensors(); ++i) {
        const std::optional<std::string_view> prefix = prefix_before(file_.name(i), ending, candidate.style.separator);
        if (!prefix || !is_complete(candidate, *prefix)) continue;
        const size_t likeness = likeness_of(*prefix, prefix_);
        prefixes.insert(*prefix);
        if (best.candidate != nullptr && likeness <= best_likeness) continue;
        best.candidate = &candidate;
        best.prefix = *prefix;
        best_likeness = likeness;
      }
    }
    best.num_others = prefixes.empty() ? 0 : prefixes.size() - 1;
    return best;
  }

  // The prefix of a name of the form prefix + separator + ending, where prefix and separator may be absent. Nothing for
  // other names.
  static std::optional<std::string_view> prefix_before(std::string_view name, std::string_view ending, char separator) {
    if (!name.ends_with(ending)) return std::nullopt;
    const std::string_view rest = name.substr(0, name.size() - ending.size());
    if (rest.empty()) return rest;
    if (rest.back() != separator) return std::nullopt;
    return rest.substr(0, rest.size() - 1);
  }

  // The length of the common beginning plus the length of the common end, in bytes.
  static size_t likeness_of(std::string_view a, std::string_view b) {
    const auto beginning = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
    const auto end = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first - a.rbegin();
    return static_cast<size_t>(beginning + end);
  }

  // The end of an error message: under which other prefix the layer was found. "" if there is none.
  std::string other_prefix_text() const {
    const OtherPrefix elsewhere = find_other_prefix();
    if (elsewhere.candidate == nullptr) return "";
    std::string text =
        std::string("; found the names of ") + elsewhere.candidate->layout_name + " " + prefix_text(elsewhere.prefix);
    if (elsewhere.num_others > 0) text += " and " + std::to_string(elsewhere.num_others) + " more";
    return text;
  }

  // The end of an error message when no prefix has the layer: which tensors the file has.
  std::string contents_text() const {
    size_t num_below = 0;
    std::string_view example;
    for (size_t i = 0; i < file_.num_tensors(); ++i) {
      if (file_.name(i).starts_with(prefix_) && num_below++ == 0) example = file_.name(i);
    }
    const std::string num_tensors = std::to_string(file_.num_tensors());
    if (file_.num_tensors() == 0) return "; it has no tensors at all";
    if (prefix_.empty()) return "; its " + num_tensors + " tensors have other names, as " + in_quotes(example);
    if (num_below == 0) return "; none of its " + num_tensors + " tensors begins with " + in_quotes(prefix_);
    return "; " + std::to_string(num_below) + " of its " + num_tensors + " tensors begin with the prefix, as " +
           in_quotes(example);
  }

  const SafetensorsFile& file_;
  std::string_view prefix_;
  std::span<const Parameter> parameters_;
  std::span<const PossibleParameter> possible_;
  const WeightSentences& sentences_;
  std::vector<Candidate> candidates_;
};

}  // namespace

FoundWeights find_weights(const SafetensorsFile& file, std::string_view prefix, std::span<const Parameter> parameters,
                          std::span<const PossibleParameter> possible, const WeightSentences& sentences) {
  if (parameters.empty()) return {kOwnLayout, {}};
  return LayoutSearch(file, prefix, parameters, possible, sentences).find();
}

void add_missing_weights(const SafetensorsFile& file, std::string_view prefix, std::span<const Parameter> parameters,
                         std::span<const PossibleParameter> possible, std::string_view layout_name,
                         MissingTensors& all) {
  LayoutSearch(file, prefix, parameters, possible, {}).add_missing(layout_name, all);
}

StoredParameter find_parameter(const SafetensorsFile& file, const std::string& module, std::string_view parameter) {
  for (const WeightLayout& layout : foreign_layouts()) {
    for (const WeightSource& source : layout.sources) {
      if (parameter != source.parameter) continue;
      const SafetensorsEntry* const entry = file.find(prefixed(module, kDotted[0], source.name));
      if (entry != nullptr) return {entry, &source};
    }
  }
  return {};
}

}  // namespace heed
