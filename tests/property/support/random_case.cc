// SPDX-License-Identifier: Apache-2.0
#include "support/random_case.h"
#include "support/numbers.h"
#include "support/packing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace heed::property {
namespace {

// Names for those values in option_table() that the code below needs.
enum KindValue { kRank3, kRank4, kMultiHead, kAdditive, kGeneral };
enum LayoutValue { kRepeated = 4, kNull = 5 };
enum DropoutValue { kDropoutOff, kDropoutIdle, kDropoutOn, kTrainingOnly };
enum GroupingValue { kOneToOne, kTwoToOne, kAllToOne };
enum ProjectionValue { kToNumHiddens, kToOutputSize, kNoProjection };
enum ContentsValue { kModerate, kLarge, kTiny, kSpecial };
enum PositionsValue { kNoPositions, kInOrder, kAnywhere, kFar };
enum SequencesValue { kWhole, kQueryLens, kPacked };
enum SinksValue { kNoSinks, kSinksInput, kSinksParameter };
enum ConstantKeysValue { kNoConstantKeys, kBiasKey, kZeroKey, kBiasAndZeroKey };
enum SliceValue { kWholeHead, kPartial, kOffset };

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

bool has_projections(const Choice& choice) { return choice[kKind] >= kMultiHead; }

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

// Sets options that few choices would have by chance to 0: those of a layer, which other kinds of attention lack; a cache
// where it is not possible; and lengths and pairs, which packed batches lack.
void set_rare_to_zero(Choice& choice, const PairCoverage::Pair* wanted) {
  const auto is_free = [&](Option option) { return wanted == nullptr || (wanted->a != option && wanted->b != option); };
  if (choice[kKind] != kMultiHead) {
    for (Option option : {kRope, kQkNorm, kRelativeBias, kConstantKeys}) {
      if (is_free(option)) choice[option] = 0;
    }
  }
  for (const Condition& condition : conditions()) {
    const auto& needed = condition.needed_values;
    const bool is_met = std::find(needed.begin(), needed.end(), choice[condition.needs]) != needed.end();
    if (condition.option == kCache && !is_met && is_free(kCache)) choice[kCache] = 0;
  }
  if (choice[kSequences] != kPacked) return;
  for (Option option : {kValidLens, kMask, kBias, kWeights}) {
    if (is_free(option)) choice[option] = 0;
    if (choice[option] != 0 && is_free(kSequences)) choice[kSequences] = kWhole;
  }
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
    set_sequences();
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
    const double usual_scale = is(kKind, kGeneral) ? 1.0 : 1.0 / std::sqrt(static_cast<double>(sizes_.head_size));
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
    if (choice_[kAlibiSlopes] >= 3) options.alibi = is(kAlibiSlopes, 3) ? HEED_ALIBI_ADDED : HEED_ALIBI_SCALED;
    options.sinks = is(kSinks, kSinksParameter);
    options.add_bias_kv = is(kConstantKeys, kBiasKey) || is(kConstantKeys, kBiasAndZeroKey);
    options.add_zero_attn = is(kConstantKeys, kZeroKey) || is(kConstantKeys, kBiasAndZeroKey);
    if (!is(kQkNorm, 0)) {
      options.qk_norm = is(kQkNorm, 1) ? HEED_QK_NORM_RMS : HEED_QK_NORM_LAYER;
      options.qk_norm_epsilon = random_.one_of<float>({1e-6F, 1e-5F, 0.1F});
    }
    options.relative_bias = choice_[kRelativeBias];
    if (!is(kRelativeBias, 0) && random_.chance(0.5)) {
      options.relative_bias_buckets = 4 + 2 * random_.below(10);
      options.relative_bias_max_distance = options.relative_bias_buckets + random_.below(40);
    }
    if (!is(kRope, 0)) set_rope();
  }

  void set_rope() {
    heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
    rope.layout = choice_[kRope];
    rope.scaling = choice_[kRopeScaling];
    const int64_t head_size = sizes_.head_size;
    const bool needs_two_pairs = rope.scaling == HEED_ROPE_SCALING_NTK;
    if (is(kRotarySlice, kOffset)) rope.rotary_offset = 1 + random_.below(head_size - (needs_two_pairs ? 4 : 2));
    int64_t size = (head_size - rope.rotary_offset) / 2 * 2;
    if (is(kRotarySlice, kPartial) && size > 4) size = 4 + 2 * random_.below(size / 2 - 2);
    if (!is(kRotarySlice, kWholeHead)) rope.rotary_size = size;
    if (random_.chance(0.7)) rope.base = random_.one_of<float>({1e4F, 5e5F, 1e6F, 500.0F});
    if (random_.chance(0.2)) rope.attention_factor = random_.one_of<float>({1.0F, 1.25F});
    if (rope.scaling != HEED_ROPE_SCALING_NONE) rope.factor = random_.one_of<float>({1.0F, 2.0F, 8.0F, 32.0F});
    if (rope.scaling >= HEED_ROPE_SCALING_YARN) rope.original_length = random_.one_of<int64_t>({16, 128, 4096});
    if (rope.scaling == HEED_ROPE_SCALING_YARN) rope.no_rounding = random_.chance(0.5);
    if (rope.scaling == HEED_ROPE_SCALING_FACTORS) {
      for (int64_t i = 0; i < size / 2; ++i)
        call_.rope_factors.push_back(static_cast<float>(random_.uniform(1.0, 40.0)));
    }
    call_.rope = rope;
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
    // Layers of the additive and the general score do not project their values. So keys and queries that are also the
    // values have the value's size.
    const bool keys_are_values = (is(kKind, kAdditive) || is(kKind, kGeneral)) && is(kValues, kNull);
    const bool queries_are_values = keys_are_values && is(kKeys, kNull);
    query_size_ = input_size(projected && !is(kKind, kGeneral) && !queries_are_values, sizes_.head_size);
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
    if (is(kKind, kGeneral)) {
      // The default scale is 1.
      add_weight("W", {sizes_.head_size, key_size_},
                 std::sqrt(3.0 / static_cast<double>(key_size_ * sizes_.head_size)));
      return;
    }
    if (has_additive_scores(choice_)) set_score_weights();
    add_parameters("W_q", sizes_.num_heads * sizes_.head_size, query_size_, call_.options.biases & HEED_BIAS_Q);
    add_parameters("W_k", sizes_.num_kv_heads * sizes_.head_size, key_size_, call_.options.biases & HEED_BIAS_K);
    if (is(kKind, kAdditive)) return;
    set_own_parameters();
    add_parameters("W_v", sizes_.num_kv_heads * sizes_.value_head_size, value_size_,
                   call_.options.biases & HEED_BIAS_V);
    if (is(kOutputProjection, kNoProjection)) return;
    const int64_t output_size =
        is(kOutputProjection, kToOutputSize) ? call_.options.output_size : call_.options.num_hiddens;
    add_parameters("W_o", output_size, sizes_.num_heads * sizes_.value_head_size, call_.options.biases & HEED_BIAS_O);
  }

  // Those of norms, sinks, constant keys and relative bias.
  void set_own_parameters() {
    if (call_.options.qk_norm_epsilon != 0.0F) {
      for (const auto& [name, num_heads] :
           {std::pair{"q_norm", sizes_.num_heads}, std::pair{"k_norm", sizes_.num_kv_heads}}) {
        Dims dims = {sizes_.head_size};
        if (is(kQkNorm, 2)) dims.insert(dims.begin(), num_heads);
        add_weight(name, dims, is(kContents, kLarge) ? 4.0 : 1.5);
      }
    }
    const double largest = is(kContents, kLarge) ? 60.0 : 3.0;
    if (call_.options.sinks != 0) add_parameter("sinks", {sizes_.num_heads}, largest);
    if (call_.options.add_bias_kv != 0) {
      const double amplitude = is(kContents, kLarge) ? 12.0 : is(kContents, kTiny) ? 1e-6 : 1.0;
      add_parameter("bias_k", {sizes_.num_kv_heads * sizes_.head_size}, amplitude);
      add_parameter("bias_v", {sizes_.num_kv_heads * sizes_.value_head_size}, amplitude);
    }
    if (call_.options.relative_bias == HEED_RELATIVE_BIAS_NONE) return;
    const int64_t given = call_.options.relative_bias_buckets;
    add_weight("relative_bias", {given != 0 ? given : 32, sizes_.num_heads}, largest);
  }

  // The weights add up to the largest score: about 100 for large contents.
  void set_score_weights() {
    const auto head_size = static_cast<double>(sizes_.head_size);
    const double usual_scale = is(kKind, kAdditive) ? 1.0 : 1.0 / std::sqrt(head_size);
    const double largest = is(kContents, kLarge) ? 100.0 / (head_size * usual_scale) : std::sqrt(3.0 / head_size);
    add_weight("w_v", {sizes_.num_heads, sizes_.head_size}, largest);
  }

  void add_weight(const std::string& name, const Dims& dims, double amplitude) {
    add_parameter(name + ".weight", dims, amplitude);
  }

  void add_parameter(const std::string& name, const Dims& dims, double amplitude) {
    const auto dtype = static_cast<heed_dtype>(choice_[kParameterDtype]);
    auto layout = static_cast<Layout>(choice_[kParameterLayout]);
    if (dims.size() == 1 && layout == Layout::Transposed) layout = Layout::RowMajor;
    call_.parameters[name] = make_input(random_array(dims, amplitude), dtype, make_strides(layout, dims, random_));
  }

  void add_parameters(const std::string& name, int64_t output_size, int64_t input_size, bool with_bias) {
    add_weight(name, {output_size, input_size}, std::sqrt(3.0 / static_cast<double>(input_size)));
    if (with_bias) add_parameter(name + ".bias", {output_size}, 0.5);
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
    if (is(kSinks, kSinksInput))
      call_.sinks = limit(random_array({sizes_.num_heads}, is(kContents, kLarge) ? 60.0 : 3.0), HEED_F32);
    if (is(kAlibiSlopes, 1) || is(kAlibiSlopes, 2)) {
      Array slopes = filled({sizes_.num_heads}, 0.0);
      for (int64_t h = 0; h < sizes_.num_heads; ++h) {
        slopes.values[static_cast<size_t>(h)] = is(kAlibiSlopes, 1)
                                                    ? std::exp2(-static_cast<double>(h + 1) * 2.0)
                                                    : random_.uniform(-0.5, is(kContents, kLarge) ? 8.0 : 1.5);
      }
      call_.alibi_slopes = limit(std::move(slopes), HEED_F32);
    }
  }

  // Positions and lengths of queries; packs the batch.
  void set_sequences() {
    const auto dtype = [&] { return random_.chance(0.5) ? HEED_I32 : HEED_I64; };
    const auto count = [&](int64_t b, int64_t longest) {
      return b == 0 || random_.chance(0.2) ? longest : random_.below(longest + 1);
    };
    if (!is(kPositions, kNoPositions)) {
      Array positions = filled({sizes_.batch, sizes_.num_queries}, 0.0);
      const int64_t first = random_.below(sizes_.num_keys + 1);
      for_each_index(positions.dims,
                     [&](const Dims& index, size_t i) { positions.values[i] = position(first + index[1]); });
      if (!call_.keys && !has_rows_of_pairs()) sort_rows(positions);
      call_.positions = limit(std::move(positions), dtype());
      if (call_.keys && !call_.cache_layout && is(kCache, 0) && random_.chance(0.5)) {
        Array of_keys = filled({sizes_.batch, sizes_.num_keys}, 0.0);
        for_each_index(of_keys.dims, [&](const Dims& index, size_t i) { of_keys.values[i] = position(index[1]); });
        call_.key_positions = limit(std::move(of_keys), dtype());
      }
    }
    if (is(kSequences, kQueryLens)) {
      Array lens = filled({sizes_.batch}, 0.0);
      for (int64_t b = 0; b < sizes_.batch; ++b)
        lens.values[static_cast<size_t>(b)] = static_cast<double>(count(b, sizes_.num_queries));
      call_.query_lens = limit(std::move(lens), dtype());
    }
    if (!is(kSequences, kPacked)) return;
    std::vector<int64_t> queries, keys;
    for (int64_t b = 0; b < sizes_.batch; ++b) {
      queries.push_back(count(b, sizes_.num_queries));
      keys.push_back(count(b, sizes_.num_keys));
    }
    const auto to_offsets = [&](const std::vector<int64_t>& counts) {
      const Array contents = make_offsets(counts).contents;
      // Repeated offsets would be others.
      const bool is_repeated = is(kLimitsLayout, kRepeated);
      return is_repeated ? make_input(contents, dtype()) : limit(contents, dtype());
    };
    call_.query_offsets = to_offsets(queries);
    if (call_.keys) call_.key_offsets = to_offsets(keys);
    const auto packed = [&](const std::optional<Input>& input, Option layout, size_t axis, const Input& offsets) {
      const Array contents = pack(input->contents, axis, offsets);
      return make_input(contents, input->dtype,
                        make_strides(static_cast<Layout>(choice_[layout]), contents.dims, random_));
    };
    const size_t rows = call_.queries.contents.dims.size() - 3;
    call_.queries = packed(call_.queries, kQueries, rows, *call_.query_offsets);
    if (call_.keys) call_.keys = packed(call_.keys, kKeys, rows, *call_.key_offsets);
    if (call_.values) call_.values = packed(call_.values, kValues, rows, key_offsets_of(call_));
    if (!call_.positions) return;
    call_.positions = limit(pack(call_.positions->contents, 0, *call_.query_offsets), call_.positions->dtype);
    if (!call_.key_positions) return;
    call_.key_positions = limit(pack(call_.key_positions->contents, 0, *call_.key_offsets), call_.key_positions->dtype);
  }

  // Whether a mask or bias has an element for each query and key, so that positions of self-attention may fall.
  bool has_rows_of_pairs() const {
    const auto has_rows = [](const std::optional<Input>& pairs) {
      if (!pairs) return false;
      const Dims& dims = pairs->contents.dims;
      return dims[dims.size() - 2] > 1 && dims[dims.size() - 1] > 1;
    };
    return has_rows(call_.mask) || has_rows(call_.bias);
  }

  double position(int64_t in_order) {
    if (is(kPositions, kInOrder)) return static_cast<double>(in_order);
    if (is(kPositions, kFar) && random_.chance(0.5))
      return static_cast<double>(std::numeric_limits<int32_t>::max() - random_.below(1000));
    return static_cast<double>(random_.below(2 * sizes_.num_keys + 2));
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
    if (is(kCache, 1)) call_.cache_layout = HEED_CACHE_CONTIGUOUS;
    if (is(kCache, 2)) call_.cache_layout = HEED_CACHE_PAGED;
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
         {&call_.keys, &call_.values, &call_.valid_lens, &call_.mask, &call_.bias, &call_.alibi_slopes, &call_.sinks,
          &call_.positions, &call_.key_positions, &call_.query_lens}) {
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
  std::vector<int32_t> allowed[kNumOptions];
  for (int32_t option = 0; option < kNumOptions; ++option) {
    const auto num_values = static_cast<int32_t>(option_table()[static_cast<size_t>(option)].values.size());
    for (int32_t value = 0; value < num_values; ++value) {
      const auto is_this = [&](const OptionValue& out) { return out.option == option && out.value == value; };
      if (std::none_of(excluded_.begin(), excluded_.end(), is_this)) allowed[option].push_back(value);
    }
  }
  for (int wish = 0;; ++wish) {
    const PairCoverage::Pair* wanted = missing.empty() || wish >= kWishes ? nullptr : &random_.one_of(missing);
    // Most calls are small, so that many can be made; but large sizes must remain possible for their pairs.
    const double allowed_work = random_.magnitude(2e3, 2e6);
    for (int attempt = 0; attempt < kPatience; ++attempt) {
      Choice choice;
      for (size_t option = 0; option < choice.size(); ++option)
        choice[option] = allowed[option].empty() ? kAbsent : random_.one_of(allowed[option]);
      for (Option size : {kBatch, kNumQueries, kNumKeys}) {
        // Calls that compute nothing are rarely needed.
        if (choice[size] == 0 && !random_.chance(0.2)) choice[size] = 1;
      }
      if (choice[kKeys] == kNull) choice[kNumKeys] = choice[kNumQueries];
      if (wanted != nullptr) {
        choice[wanted->a] = wanted->value_a;
        choice[wanted->b] = wanted->value_b;
      }
      set_rare_to_zero(choice, wanted);
      if (normalize(choice) && is_consistent(choice) && work_of(choice) <= allowed_work) return choice;
    }
  }
}

const std::vector<OptionValue>& left_to_the_cpu() {
  static const std::vector<OptionValue> kValues = {{kKind, kAdditive},
                                                   {kScoring, 1},
                                                   {kSoftCap, 1},
                                                   {kDropout, kDropoutOn},
                                                   {kAlibiSlopes, 1},
                                                   {kAlibiSlopes, 2},
                                                   {kAlibiSlopes, 3},
                                                   {kAlibiSlopes, 4},
                                                   {kRelativeBias, 1},
                                                   {kRelativeBias, 2},
                                                   {kSinks, 1},
                                                   {kSinks, 2},
                                                   {kRopeScaling, 0},
                                                   {kRopeScaling, 1},
                                                   {kRopeScaling, 2},
                                                   {kRopeScaling, 3},
                                                   {kRopeScaling, 4},
                                                   {kRopeScaling, 5},
                                                   {kRotarySlice, 0},
                                                   {kRotarySlice, 1},
                                                   {kRotarySlice, 2},
                                                   {kConstantKeys, kBiasKey},
                                                   {kConstantKeys, kZeroKey},
                                                   {kConstantKeys, kBiasAndZeroKey},
                                                   {kPositions, 1},
                                                   {kPositions, 2},
                                                   {kPositions, 3},
                                                   {kSequences, 1},
                                                   {kSequences, 2},
                                                   {kRope, 1},
                                                   {kRope, 2},
                                                   {kCache, 1},
                                                   {kCache, 2},
                                                   {kQkNorm, 1},
                                                   {kQkNorm, 2}};
  return kValues;
}

Call make_call(const Choice& choice, uint64_t seed) { return CallMaker(choice, seed).make(); }

}  // namespace heed::property
