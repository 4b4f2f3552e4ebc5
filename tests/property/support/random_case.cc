// SPDX-License-Identifier: Apache-2.0
#include "support/random_case.h"
#include "support/numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace heed::property {
namespace {

// Names for those values in option_table() that the code below needs.
enum KindValue { kRank3, kRank4, kMultiHead, kAdditive };
enum LayoutValue { kRepeated = 4, kNull = 5 };
enum DropoutValue { kDropoutOff, kDropoutIdle, kDropoutOn, kTrainingOnly };
enum GroupingValue { kOneToOne, kTwoToOne, kAllToOne };
enum ProjectionValue { kToNumHiddens, kToOutputSize, kNoProjection };
enum ContentsValue { kModerate, kLarge, kTiny, kSpecial };

constexpr int64_t kHeadSizes[] = {1, 3, 8, 16, 17, 64};
const std::vector<int64_t> kInputSizes = {1, 2, 5, 8, 16, 17};

// The largest size of each size class, to estimate the work of a call.
constexpr int64_t kLargestOfClass[] = {0, 1, 2, 7, 17, 65, 130};

int64_t draw_size(int32_t size_class, Random& random) {
  switch (size_class) {
    case 3: return 3 + 2 * random.below(3);
    case 4: return 15 + random.below(3);
    case 5: return 63 + random.below(3);
    default: return kLargestOfClass[size_class];
  }
}

bool has_projections(const Choice& choice) { return choice[kKind] == kMultiHead || choice[kKind] == kAdditive; }

bool has_additive_scores(const Choice& choice) { return choice[kKind] == kAdditive || choice[kScoring] == 1; }

// About the number of multiplications in the attention.
double work_of(const Choice& choice) {
  // A tanh takes as long as eight multiplications.
  const double score = has_additive_scores(choice) ? 8.0 : 1.0;
  const auto largest = [&](Option option) { return static_cast<double>(kLargestOfClass[choice[option]]); };
  const double num_heads = choice[kNumHeads] == kAbsent ? 1.0 : choice[kNumHeads] + 1.0;
  const double num_keys = choice[kKeys] == kNull ? largest(kNumQueries) : largest(kNumKeys);
  const auto head_size = static_cast<double>(kHeadSizes[choice[kHeadSize]]);
  const double rows = largest(kBatch) * num_heads * largest(kNumQueries);
  const double projected =
      has_projections(choice) ? largest(kBatch) * num_heads * (largest(kNumQueries) + num_keys) : 0.0;
  return rows * num_keys * ((1.0 + score) * head_size + 8.0) + projected * head_size * 32.0;
}

// Whether a call with these values is possible, beyond the conditions on pairs of values.
bool is_consistent(const Choice& choice) {
  if (choice[kOutput] == 0 && choice[kWeights] == 0 && choice[kLogSumExp] == 0) return false;
  // Without projections, missing values are the keys, so they have their head size and heads.
  if (choice[kKind] != kMultiHead && choice[kValues] == kNull && choice[kValueHeadSize] != 0) return false;
  if (choice[kKind] == kRank4 && choice[kKeys] == kNull && choice[kGrouping] != kOneToOne) return false;
  // Missing keys are the queries, so K = Q.
  return choice[kKeys] != kNull || choice[kNumKeys] == choice[kNumQueries];
}

// Sets options without a meaning to kAbsent. Returns false if two values exclude each other.
bool normalize(Choice& choice) {
  for (const Condition& condition : conditions()) {
    const auto& needed = condition.needed_values;
    const bool met = std::find(needed.begin(), needed.end(), choice[condition.needs]) != needed.end();
    if (met || choice[condition.option] == kAbsent) continue;
    if (condition.values.empty()) choice[condition.option] = kAbsent;
  }
  for (int32_t a = 0; a < kNumOptions; ++a) {
    for (int32_t b = a + 1; b < kNumOptions; ++b) {
      const int32_t value_a = choice[static_cast<size_t>(a)];
      const int32_t value_b = choice[static_cast<size_t>(b)];
      if (value_a == kAbsent || value_b == kAbsent) continue;
      if (!is_possible(static_cast<Option>(a), value_a, static_cast<Option>(b), value_b)) return false;
    }
  }
  return true;
}

// Makes the call that a choice describes.
class CallMaker {
 public:
  CallMaker(const Choice& choice, uint64_t seed) : choice_(choice), random_(seed) {}

  Call make() {
    draw_sizes();
    set_options();
    set_tensors();
    if (has_projections(choice_)) set_parameters();
    set_limits();
    set_requests();
    set_unused();
    return std::move(call_);
  }

 private:
  bool is(Option option, int32_t value) const { return choice_[option] == value; }

  void draw_sizes() {
    sizes_.batch = draw_size(choice_[kBatch], random_);
    sizes_.num_queries = draw_size(choice_[kNumQueries], random_);
    sizes_.num_keys = is(kKeys, kNull) ? sizes_.num_queries : draw_size(choice_[kNumKeys], random_);
    sizes_.head_size = kHeadSizes[choice_[kHeadSize]];
    sizes_.value_head_size = sizes_.head_size;
    while (is(kValueHeadSize, 1) && sizes_.value_head_size == sizes_.head_size) {
      sizes_.value_head_size = kHeadSizes[random_.below(6)];
    }
    if (is(kNumHeads, kAbsent)) return;
    sizes_.num_heads = sizes_.num_kv_heads = choice_[kNumHeads] + 1;
    if (is(kGrouping, kTwoToOne)) sizes_.num_kv_heads = sizes_.num_heads / 2;
    if (is(kGrouping, kAllToOne)) sizes_.num_kv_heads = 1;
  }

  void set_options() {
    heed_multi_head_attention_options& options = call_.options;
    call_.kind = static_cast<Kind>(choice_[kKind]);
    const double usual_scale = 1.0 / std::sqrt(static_cast<double>(sizes_.head_size));
    if (!is(kScale, 0))
      options.scale = static_cast<float>((is(kScale, 2) ? -1.0 : 1.0) * random_.uniform(0.2, 2.0) * usual_scale);
    if (is(kSoftCap, 1)) options.soft_cap = static_cast<float>(random_.magnitude(0.5, 50.0));
    if (is(kDropout, kDropoutIdle) || is(kDropout, kDropoutOn))
      options.dropout = random_.one_of<float>({0.1F, 0.5F, 0.9F});
    call_.training = is(kDropout, kDropoutOn) || is(kDropout, kTrainingOnly);
    call_.dropout_seed = random_.next();
    options.causal = choice_[kCausal];
    options.window = choice_[kWindow];
    if (options.window != HEED_WINDOW_NONE) {
      options.window_left = window_size(choice_[kWindowLeft]);
      options.window_right = window_size(choice_[kWindowRight]);
    }
    options.empty_rows = choice_[kEmptyRows];
    if (is(kKind, kAdditive)) options.num_hiddens = sizes_.head_size;
    if (!is(kKind, kMultiHead)) return;

    options.scoring = choice_[kScoring];
    options.num_heads = sizes_.num_heads;
    if (sizes_.num_kv_heads != sizes_.num_heads || random_.chance(0.3)) options.num_kv_heads = sizes_.num_kv_heads;
    if (is(kHeadSizeGiven, 1)) {
      options.head_size = sizes_.head_size;
      options.num_hiddens = is(kOutputProjection, kToNumHiddens) ? random_.one_of(kInputSizes) : 0;
    } else {
      options.num_hiddens = sizes_.num_heads * sizes_.head_size;
    }
    if (sizes_.value_head_size != sizes_.head_size || random_.chance(0.3))
      options.value_head_size = sizes_.value_head_size;
    if (is(kOutputProjection, kToOutputSize)) options.output_size = random_.one_of(kInputSizes);
    options.no_output_projection = is(kOutputProjection, kNoProjection);
    if (is(kBiasQ, 1)) options.biases |= HEED_BIAS_Q;
    if (is(kBiasK, 1)) options.biases |= HEED_BIAS_K;
    if (is(kBiasV, 1)) options.biases |= HEED_BIAS_V;
    if (is(kBiasO, 1)) options.biases |= HEED_BIAS_O;
  }

  int64_t window_size(int32_t size_class) {
    if (size_class == 0) return random_.chance(0.5) ? -1 : std::numeric_limits<int64_t>::min();
    if (size_class == 1) return 0;
    return random_.chance(0.1) ? std::numeric_limits<int64_t>::max() : 1 + random_.below(sizes_.num_keys / 2 + 3);
  }

  void set_tensors() {
    const auto dtype = static_cast<heed_dtype>(choice_[kInputDtype]);
    const bool projected = has_projections(choice_);
    const auto input_size = [&](bool is_free, int64_t size) { return is_free ? random_.one_of(kInputSizes) : size; };
    // An additive layer does not project its values. So keys and queries that are also the values have the value's
    // size.
    const bool keys_are_values = is(kKind, kAdditive) && is(kValues, kNull);
    const bool queries_are_values = keys_are_values && is(kKeys, kNull);
    query_size_ = input_size(projected && !queries_are_values, sizes_.head_size);
    key_size_ = is(kKeys, kNull) ? query_size_ : input_size(projected && !keys_are_values, sizes_.head_size);
    value_size_ = is(kValues, kNull) ? key_size_ : input_size(is(kKind, kMultiHead), sizes_.value_head_size);

    // The scaled dot product of two vectors with elements up to a is about a^2 / 3 at most.
    double query_amplitude = projected ? 1.0 : 2.0;
    double value_amplitude = 1.0;
    if (is(kContents, kLarge)) {
      query_amplitude = projected ? 12.0 : 18.0 / std::pow(static_cast<double>(sizes_.head_size), 0.25);
      value_amplitude = dtype == HEED_F16 ? 6e4 : random_.magnitude(1e2, 1e30);
    } else if (is(kContents, kTiny)) {
      query_amplitude = dtype == HEED_F16 ? 1e-6 : random_.magnitude(1e-30, 1e-10);
      value_amplitude = dtype == HEED_F16 ? 1e-6 : random_.magnitude(1e-44, 1e-36);
    }
    call_.queries =
        tensor(dims_of(sizes_.num_heads, sizes_.num_queries, query_size_), dtype, kQueries, query_amplitude);
    if (!is(kKeys, kNull)) {
      call_.keys = tensor(dims_of(sizes_.num_kv_heads, sizes_.num_keys, key_size_), dtype, kKeys, query_amplitude);
    }
    if (!is(kValues, kNull)) {
      call_.values =
          tensor(dims_of(sizes_.num_kv_heads, sizes_.num_keys, value_size_), dtype, kValues, value_amplitude);
    }
  }

  Dims dims_of(int64_t num_heads, int64_t length, int64_t size) const {
    if (is(kKind, kRank4)) return {sizes_.batch, num_heads, length, size};
    return {sizes_.batch, length, size};
  }

  Input tensor(const Dims& dims, heed_dtype dtype, Option layout, double amplitude) {
    Array contents = random_array(dims, amplitude);
    if (is(kContents, kSpecial)) spoil_rows(contents);
    return make_input(std::move(contents), dtype, make_strides(static_cast<Layout>(choice_[layout]), dims, random_));
  }

  Array random_array(const Dims& dims, double amplitude) {
    Array array = filled(dims, 0.0);
    for (double& element : array.values) element = random_.uniform(-amplitude, amplitude);
    return array;
  }

  // Puts a non-finite number into one row of ten. With projections only NaN: a sum of infinities and numbers that
  // nearly cancel could be +inf, -inf or NaN, depending on the last bit of the other terms.
  void spoil_rows(Array& array) {
    const int64_t size = array.dims.back();
    const int64_t rows = static_cast<int64_t>(array.values.size()) / size;
    for (int64_t row = 0; row < rows; ++row) {
      if (!random_.chance(0.1)) continue;
      const double spoiler = has_projections(choice_) ? kNaN : random_.one_of<double>({kNaN, kInfinity, -kInfinity});
      array.values[static_cast<size_t>(row * size + random_.below(size))] = spoiler;
    }
  }

  void set_parameters() {
    if (has_additive_scores(choice_)) set_score_weights();
    add_parameters("W_q", sizes_.num_heads * sizes_.head_size, query_size_, call_.options.biases & HEED_BIAS_Q);
    add_parameters("W_k", sizes_.num_kv_heads * sizes_.head_size, key_size_, call_.options.biases & HEED_BIAS_K);
    if (is(kKind, kAdditive)) return;
    add_parameters("W_v", sizes_.num_kv_heads * sizes_.value_head_size, value_size_,
                   call_.options.biases & HEED_BIAS_V);
    if (is(kOutputProjection, kNoProjection)) return;
    const int64_t output_size =
        is(kOutputProjection, kToOutputSize) ? call_.options.output_size : call_.options.num_hiddens;
    add_parameters("W_o", output_size, sizes_.num_heads * sizes_.value_head_size, call_.options.biases & HEED_BIAS_O);
  }

  // The weights add up to the largest score: about 100 for large contents.
  void set_score_weights() {
    const auto head_size = static_cast<double>(sizes_.head_size);
    const double usual_scale = is(kKind, kAdditive) ? 1.0 : 1.0 / std::sqrt(head_size);
    const double largest = is(kContents, kLarge) ? 100.0 / (head_size * usual_scale) : std::sqrt(3.0 / head_size);
    add_weight("w_v", {sizes_.num_heads, sizes_.head_size}, largest);
  }

  void add_weight(const std::string& name, const Dims& dims, double amplitude) {
    const auto dtype = static_cast<heed_dtype>(choice_[kParameterDtype]);
    const auto layout = static_cast<Layout>(choice_[kParameterLayout]);
    call_.parameters[name + ".weight"] =
        make_input(random_array(dims, amplitude), dtype, make_strides(layout, dims, random_));
  }

  void add_parameters(const std::string& name, int64_t output_size, int64_t input_size, bool with_bias) {
    add_weight(name, {output_size, input_size}, std::sqrt(3.0 / static_cast<double>(input_size)));
    if (!with_bias) return;
    const auto dtype = static_cast<heed_dtype>(choice_[kParameterDtype]);
    const auto layout = static_cast<Layout>(choice_[kParameterLayout]);
    const Dims bias_dims = {output_size};
    const Layout bias_layout = layout == Layout::Transposed ? Layout::RowMajor : layout;
    call_.parameters[name + ".bias"] =
        make_input(random_array(bias_dims, 0.5), dtype, make_strides(bias_layout, bias_dims, random_));
  }

  void set_limits() {
    if (!is(kValidLens, 0)) {
      static constexpr heed_dtype kDtypes[] = {HEED_F32, HEED_I32, HEED_I64};
      Dims dims = {sizes_.batch};
      if (is(kValidLens, 2)) dims.push_back(sizes_.num_queries);
      Array lengths = filled(dims, 0.0);
      for (double& length : lengths.values) length = static_cast<double>(random_.below(sizes_.num_keys + 1));
      call_.valid_lens = limit(std::move(lengths), kDtypes[choice_[kValidLensDtype]]);
    }
    if (!is(kMask, 0)) {
      Array mask = filled(repeated_dims(kMask), 0.0);
      const double density = random_.one_of<double>({0.2, 0.6, 0.95});
      for (double& element : mask.values) {
        if (random_.chance(density)) element = static_cast<double>(1 + random_.below(255));
      }
      call_.mask = limit(std::move(mask), HEED_BOOL);
    }
    if (!is(kBias, 0)) {
      Array bias = random_array(repeated_dims(kBias), is(kContents, kLarge) ? 60.0 : 3.0);
      for (double& element : bias.values) {
        if (is(kBiasContents, 1) && random_.chance(0.2)) element = -kInfinity;
        if (is(kContents, kSpecial) && random_.chance(0.002)) element = random_.one_of<double>({kNaN, kInfinity});
      }
      call_.bias = limit(std::move(bias), is(kBiasDtype, 0) ? static_cast<heed_dtype>(choice_[kInputDtype]) : HEED_F32);
    }
    if (!is(kAlibiSlopes, 0)) {
      Array slopes = filled({sizes_.num_heads}, 0.0);
      for (int64_t h = 0; h < sizes_.num_heads; ++h) {
        slopes.values[static_cast<size_t>(h)] = is(kAlibiSlopes, 1)
                                                    ? std::exp2(-static_cast<double>(h + 1) * 2.0)
                                                    : random_.uniform(-0.5, is(kContents, kLarge) ? 8.0 : 1.5);
      }
      call_.alibi_slopes = limit(std::move(slopes), HEED_F32);
    }
  }

  Input limit(Array contents, heed_dtype dtype) {
    auto layout = static_cast<Layout>(choice_[kLimitsLayout]);
    if (contents.dims.size() == 1 && layout == Layout::Transposed) layout = Layout::RowMajor;
    Dims strides = make_strides(layout, contents.dims, random_);
    return make_input(std::move(contents), dtype, std::move(strides));
  }

  // From the option's text: a letter is an axis of full size, "-" an axis of size 1.
  Dims repeated_dims(Option option) const {
    const std::string axes = option_table()[option].values[static_cast<size_t>(choice_[option])];
    const Dims full = {sizes_.batch, sizes_.num_heads, sizes_.num_queries, sizes_.num_keys};
    Dims dims(full.end() - static_cast<std::ptrdiff_t>(axes.size()), full.end());
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      if (axes[axis] == '-') dims[axis] = 1;
    }
    return dims;
  }

  void set_requests() {
    const auto own = static_cast<heed_dtype>(choice_[kInputDtype]);
    const auto layout = static_cast<Layout>(choice_[kOutputLayout]);
    const auto request = [&](Option option) -> std::optional<OutputRequest> {
      if (is(option, 0)) return std::nullopt;
      return OutputRequest{is(option, 1) ? own : HEED_F32, layout};
    };
    call_.output = request(kOutput);
    call_.weights = request(kWeights);
    if (is(kLogSumExp, 1)) call_.log_sum_exp = OutputRequest{HEED_F32, layout};
    call_.with_workspace = is(kWorkspace, 1);
    call_.num_threads = std::vector<int32_t>{0, 1, 4}[static_cast<size_t>(choice_[kNumThreads])];
  }

  // Misaligns half of the operands for vectors. Drawn last, so that the rest of a case does not depend on it.
  void set_unused() {
    const auto draw = [&](auto& operand) {
      if (random_.chance(0.5)) operand.unused_before = 1 + 2 * random_.below(8);
    };
    draw(call_.queries);
    for (std::optional<Input>* input :
         {&call_.keys, &call_.values, &call_.valid_lens, &call_.mask, &call_.bias, &call_.alibi_slopes}) {
      if (*input) draw(**input);
    }
    for (auto& [name, parameter] : call_.parameters) draw(parameter);
    for (std::optional<OutputRequest>* request : {&call_.output, &call_.weights, &call_.log_sum_exp}) {
      if (*request) draw(**request);
    }
  }

  const Choice& choice_;
  Random random_;
  Call call_;
  reference::AttentionSizes sizes_;
  int64_t query_size_ = 0;
  int64_t key_size_ = 0;
  int64_t value_size_ = 0;
};

}  // namespace

Choice ChoiceSampler::next() {
  constexpr int kCandidates = 4;
  const std::vector<PairCoverage::Pair> missing = coverage_.missing();
  Choice best = draw(missing);
  int64_t best_gain = coverage_.gain(best);
  for (int i = 1; i < kCandidates && !missing.empty(); ++i) {
    const Choice candidate = draw(missing);
    const int64_t gain = coverage_.gain(candidate);
    if (gain > best_gain) {
      best = candidate;
      best_gain = gain;
    }
  }
  coverage_.add(best);
  return best;
}

Choice ChoiceSampler::draw(const std::vector<PairCoverage::Pair>& missing) {
  constexpr int kPatience = 1000;
  constexpr int kWishes = 20;  // after so many failed rounds, draws without a wanted pair
  for (int wish = 0;; ++wish) {
    const PairCoverage::Pair* wanted = missing.empty() || wish >= kWishes ? nullptr : &random_.one_of(missing);
    // Most calls are small, so that many can be made; but large sizes must remain possible for their pairs.
    const double allowed_work = random_.magnitude(2e3, 2e6);
    for (int attempt = 0; attempt < kPatience; ++attempt) {
      Choice choice;
      for (size_t option = 0; option < choice.size(); ++option) {
        choice[option] =
            static_cast<int32_t>(random_.below(static_cast<int64_t>(option_table()[option].values.size())));
      }
      for (Option size : {kBatch, kNumQueries, kNumKeys}) {
        // Calls that compute nothing are rarely needed.
        if (choice[size] == 0 && !random_.chance(0.2)) choice[size] = 1;
      }
      if (choice[kKeys] == kNull) choice[kNumKeys] = choice[kNumQueries];
      if (wanted != nullptr) {
        choice[wanted->a] = wanted->value_a;
        choice[wanted->b] = wanted->value_b;
      }
      const auto is_drawn = [&](const OptionValue& out) { return choice[out.option] == out.value; };
      if (normalize(choice) && std::none_of(excluded_.begin(), excluded_.end(), is_drawn) && is_consistent(choice) &&
          work_of(choice) <= allowed_work)
        return choice;
    }
  }
}

const std::vector<OptionValue>& left_to_the_cpu() {
  static const std::vector<OptionValue> kValues = {{kKind, kAdditive},     {kScoring, 1},     {kSoftCap, 1},
                                                   {kDropout, kDropoutOn}, {kAlibiSlopes, 1}, {kAlibiSlopes, 2}};
  return kValues;
}

Call make_call(const Choice& choice, uint64_t seed) { return CallMaker(choice, seed).make(); }

}  // namespace heed::property
