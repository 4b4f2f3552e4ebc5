// SPDX-License-Identifier: Apache-2.0
// Calls of layers with inputs that fit each other, and sometimes with a mistake. If forward accepts a call, its results
// must agree with the f64 reference, and have the same bits with a workspace of exactly the needed size; and its gradients can be
// computed. If it refuses a call, it must write nothing.
#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <utility>

#include "fuzz/calls/checks.h"
#include "fuzz/calls/gradients.h"
#include "fuzz/calls/layers.h"
#include "fuzz/calls/machine.h"
#include "property/support/packing.h"

namespace heed::fuzz {
namespace {

using property::Call;
using property::Input;
using property::Kind;
using property::Result;
using property::Results;

// A seed of dropout with which a call has a tokenizer's mask, and none of what other seeds add. No older program of the corpus has it.
constexpr uint64_t kSeedWithMask = 5;

constexpr int32_t kAllWanted = HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS | HEED_WANT_LOG_SUM_EXP;

Input read_input(const heed_tensor* tensor) {
  Input input;
  input.dtype = heed_tensor_dtype(tensor);
  for (int32_t axis = 0; axis < heed_tensor_rank(tensor); ++axis) {
    input.contents.dims.push_back(heed_tensor_dim(tensor, axis));
  }
  std::vector<uint8_t> bytes(heed_tensor_num_bytes(tensor));
  require(succeeded(heed_tensor_read(tensor, bytes.data(), bytes.size())), "a tensor of a call can be read");
  input.contents.values = decode(input.dtype, bytes);
  return input;
}

std::optional<Result> read_result(const heed_tensor* tensor) {
  if (tensor == nullptr) return std::nullopt;
  const Input read = read_input(tensor);
  std::vector<uint8_t> bytes(heed_tensor_num_bytes(tensor));
  require(succeeded(heed_tensor_read(tensor, bytes.data(), bytes.size())), "an output can be read");
  return Result{read.dtype, read.contents, std::move(bytes)};
}

Results read_results(const heed_layer_outputs& outputs) {
  return {read_result(outputs.output), read_result(outputs.weights), read_result(outputs.log_sum_exp)};
}

bool are_the_same(const Results& a, const Results& b) {
  const auto same = [](const std::optional<Result>& x, const std::optional<Result>& y) {
    return x.has_value() == y.has_value() && (!x || x->bytes == y->bytes);
  };
  return same(a.output, b.output) && same(a.weights, b.weights) && same(a.log_sum_exp, b.log_sum_exp);
}

// The sizes of a call as named in heed.h. The sizes of the inputs' last axes are those of the layer's parameters.
struct CallSizes {
  int64_t batch;
  int64_t num_heads;
  int64_t num_kv_heads;
  int64_t num_queries;
  int64_t num_keys;
  int64_t query_size;
  int64_t key_size;
  int64_t value_size;
};

CallSizes choose_sizes(const Call& call, Bytes& bytes) {
  CallSizes sizes{};
  sizes.batch = bytes.below(4);
  sizes.num_queries = bytes.below(6);
  // More than 64 keys, so that there are several key blocks.
  const int64_t byte = bytes.next();
  sizes.num_keys = byte < 0xE0 ? byte % 6 : 60 + byte % 16;
  sizes.num_kv_heads = 1 + bytes.below(2);
  sizes.num_heads = sizes.num_kv_heads * (1 + bytes.below(2));
  sizes.query_size = 1 + bytes.below(5);
  sizes.key_size = sizes.query_size;
  sizes.value_size = 1 + bytes.below(5);
  if (call.kind == Kind::MultiHead || call.kind == Kind::Additive || call.kind == Kind::General) {
    const auto learned = [&call](const char* name, int64_t& size) {
      const auto parameter = call.parameters.find(name);
      if (parameter != call.parameters.end()) size = parameter->second.contents.dims[1];
    };
    learned("W_q.weight", sizes.query_size);
    learned("W_k.weight", sizes.key_size);
    learned("W_v.weight", sizes.value_size);
    learned("W.weight", sizes.key_size);
    if (call.kind == Kind::General) sizes.query_size = call.options.num_hiddens;
    sizes.num_heads = call.kind == Kind::MultiHead ? call.options.num_heads : 1;
  } else if (call.kind == Kind::DotProductRank3) {
    sizes.num_heads = 1;
  }
  if (bytes.rarely()) sizes.key_size = bytes.below(6);
  if (bytes.rarely()) sizes.num_kv_heads = bytes.below(6);
  return sizes;
}

// The rows of all batch elements, (B, L, E) or (B, H, L, E), one after another as (B L, E) or (H, B L, E).
Input joined_rows(const Input& input, property::Random& random) {
  Dims dims = input.contents.dims;
  dims[dims.size() - 2] *= dims.front();
  dims.erase(dims.begin());
  const Dims strides = property::make_strides(random.one_of(property::kReadable), dims, random);
  return property::make_input({std::move(dims), input.contents.values}, input.dtype, strides);
}

// Where batch elements begin among the rows, and the number of rows. Rarely wrong.
Input random_offsets(int64_t batch, int64_t num_rows, property::Random& random) {
  std::vector<double> offsets = {0};
  for (int64_t b = 1; b < batch; ++b) offsets.push_back(static_cast<double>(random.below(num_rows + 1)));
  std::sort(offsets.begin(), offsets.end());
  if (batch > 0) offsets.push_back(static_cast<double>(num_rows));
  if (random.chance(0.05)) offsets[static_cast<size_t>(random.below(batch + 1))] += random.chance(0.5) ? 1 : -1;
  return property::make_input({{batch + 1}, std::move(offsets)}, random.chance(0.5) ? HEED_I32 : HEED_I64);
}

// Where rows are among the keys; rarely beyond them, and rarely nowhere. `rise`: those of self-attention, which may not fall.
Input random_positions(Dims dims, int64_t num_keys, bool rise, property::Random& random) {
  Array positions = property::filled(std::move(dims), 0);
  for (double& position : positions.values) {
    position = static_cast<double>(random.below(num_keys + 3));
    if (random.chance(0.02)) position = random.chance(0.5) ? INT32_MAX : -1;
  }
  if (rise) property::sort_rows(positions);
  return property::make_input(std::move(positions), random.chance(0.5) ? HEED_I32 : HEED_I64);
}

// Adds positions, lengths of queries or both, or packs the batch. Only a packed batch may not have all other inputs.
void add_sequences(Call& call, const CallSizes& sizes, int64_t num_keys) {
  enum { kPositions, kPositionsAndLens, kLens, kPacked };
  property::Random random(call.dropout_seed);
  const uint64_t choice = call.dropout_seed / 64;
  if (choice == kPacked) {
    call.queries = joined_rows(call.queries, random);
    for (std::optional<Input> Call::*const member : {&Call::keys, &Call::values}) {
      if (call.*member) call.*member = joined_rows(*(call.*member), random);
    }
    const int64_t num_rows = sizes.batch * sizes.num_queries;
    call.query_offsets = random_offsets(sizes.batch, num_rows, random);
    if (call.keys && !random.chance(0.02))
      call.key_offsets = random_offsets(sizes.batch, sizes.batch * num_keys, random);
    if (random.chance(0.5)) call.positions = random_positions({num_rows}, num_keys, !call.keys, random);
    if (random.chance(0.02)) return;
    call.valid_lens.reset();
    call.mask.reset();
    call.bias.reset();
    return;
  }
  if (choice != kLens) {
    call.positions = random_positions({sizes.batch, sizes.num_queries}, num_keys, !call.keys, random);
    if (call.keys && random.chance(0.5))
      call.key_positions = random_positions({sizes.batch, num_keys}, num_keys, false, random);
  }
  if (choice == kPositions) return;
  Array lens = property::filled({sizes.batch}, 0);
  for (double& length : lens.values)
    length = static_cast<double>(random.below(sizes.num_queries + 1) + (random.chance(0.02) ? 1 : 0));
  call.query_lens = property::make_input(std::move(lens), random.chance(0.5) ? HEED_I32 : HEED_I64);
}

// Adds a tokenizer's mask of the rows of keys, or of the queries without keys. Rarely wrong, or with lengths of the same rows or
// a wanted number of rows, which attention does not have.
void add_attention_mask(Call& call, heed_layer_inputs& inputs, const CallSizes& sizes, int64_t num_keys, Bytes& bytes) {
  if (!bytes.rarely()) call.valid_lens.reset();
  const int64_t num_rows = num_keys + (bytes.rarely() ? 1 : 0);
  Array mask = property::filled({sizes.batch, num_rows}, 0);
  const uint8_t bits = bytes.next();
  // On the right, on the left, or anywhere.
  const int64_t place = bytes.below(3);
  for (int64_t b = 0; b < sizes.batch; ++b) {
    const int64_t count = (bits + 3 * b) % (num_rows + 1);
    for (int64_t row = 0; row < num_rows; ++row) {
      const bool is_visible = place == 0   ? row < count
                              : place == 1 ? row >= num_rows - count
                                           : ((bits >> ((row + b) % 8)) & 1) == 1;
      mask.values[static_cast<size_t>(b * num_rows + row)] = is_visible ? 1 : 0;
    }
  }
  if (bytes.rarely() && !mask.values.empty()) mask.values[bytes.next() % mask.values.size()] = bytes.flag() ? 2 : 3;
  call.attention_mask = property::make_input(std::move(mask), static_cast<heed_dtype>(bytes.below(HEED_BOOL)));
  const uint8_t extras = bytes.next();
  if (extras % 4 == 3) call.alibi_slopes = property::make_input(property::filled({sizes.num_heads}, 0.25), HEED_F32);
  if (extras / 4 % 4 == 3) {
    property::Random random(extras);
    call.positions = random_positions({sizes.batch, sizes.num_queries}, num_keys, !call.keys, random);
  }
  if (bytes.rarely()) inputs.num_last_rows = 1;
}

// The call without the mask, for the reference. Nothing in self-attention where the mask hides a row before a visible one.
std::optional<Call> without_attention_mask(Call call) {
  const Array mask = std::exchange(call.attention_mask, std::nullopt)->contents;
  const int64_t batch = mask.dims[0];
  const int64_t num_rows = mask.dims[1];
  const auto shows = [&](int64_t b, int64_t row) { return mask.values[static_cast<size_t>(b * num_rows + row)] != 0; };
  if (!call.keys) {
    Array lens = property::filled({batch}, 0);
    for (int64_t b = 0; b < batch; ++b) {
      int64_t count = 0;
      while (count < num_rows && shows(b, count)) ++count;
      for (int64_t row = count; row < num_rows; ++row) {
        if (shows(b, row)) return std::nullopt;
      }
      lens.values[static_cast<size_t>(b)] = static_cast<double>(count);
    }
    call.query_lens = property::make_input(std::move(lens), HEED_I64);
    return call;
  }
  const Dims& of_queries = call.queries.contents.dims;
  Dims dims = {batch, 1, of_queries[of_queries.size() - 2], num_rows};
  Dims given(4, 1);
  if (call.mask) std::copy_backward(call.mask->contents.dims.begin(), call.mask->contents.dims.end(), given.end());
  dims[1] = given[1];
  Array both = property::filled(dims, 0);
  property::for_each_index(dims, [&](const Dims& index, size_t i) {
    size_t at = 0;
    for (size_t axis = 0; axis < 4; ++axis)
      at = at * static_cast<size_t>(given[axis]) + static_cast<size_t>(given[axis] == 1 ? 0 : index[axis]);
    const bool may_attend = !call.mask || call.mask->contents.values[at] != 0;
    both.values[i] = may_attend && shows(index[0], index[3]) ? 1 : 0;
  });
  call.mask = property::make_input(std::move(both), HEED_BOOL);
  return call;
}

// So small that nothing overflows, and the reference is fast.
bool is_small(const CallSizes& sizes) {
  const int64_t all[] = {sizes.num_heads, sizes.query_size, sizes.key_size, sizes.value_size};
  return std::all_of(std::begin(all), std::end(all), [](int64_t size) { return size <= 64; });
}

}  // namespace

// The tensors of one call, each in its own memory.
class CallTensors {
 public:
  explicit CallTensors(heed_context* context) : context_(context) {}

  const heed_tensor* add(const Input& input) { return inputs_.emplace_back(context_, input).handle(); }
  heed_tensor* add_output(heed_dtype dtype, const Dims& dims, property::Layout layout, uint8_t seed) {
    property::Random random(seed);
    return outputs_.emplace_back(context_, dtype, dims, property::make_strides(layout, dims, random)).handle();
  }
  heed_tensor* keep(heed_tensor* made) { return made_.emplace_back(made).get(); }

  void require_unchanged_inputs() const {
    for (const HostTensor& input : inputs_) require(input.input_is_untouched(), "no call changes its inputs");
    for (const HostTensor& output : outputs_) require(output.padding_is_untouched(), "nothing lies between elements");
  }

 private:
  heed_context* context_;
  std::deque<HostTensor> inputs_;
  std::deque<HostTensor> outputs_;
  std::vector<Tensor> made_;
};

void Machine::choose_inputs(property::Call& call, heed_layer_inputs& inputs, heed_sequence_inputs& sequences,
                            CallTensors& tensors) {
  const CallSizes sizes = choose_sizes(call, bytes_);
  if (!is_small(sizes)) return;
  const heed_dtype dtype = float_dtype();
  const auto shape = [&](int64_t heads, int64_t length, int64_t size) {
    return call.kind == Kind::DotProductRank4 ? Dims{sizes.batch, heads, length, size}
                                              : Dims{sizes.batch, length, size};
  };
  call.queries = random_input(shape(sizes.num_heads, sizes.num_queries, sizes.query_size), dtype);
  if (bytes_.below(4) != 3) {
    call.keys = random_input(shape(sizes.num_kv_heads, sizes.num_keys, sizes.key_size), dtype);
    if (bytes_.below(4) != 3) {
      const heed_dtype value_dtype = bytes_.rarely() ? float_dtype() : dtype;
      call.values = random_input(shape(sizes.num_kv_heads, sizes.num_keys, sizes.value_size), value_dtype);
    }
  }
  const int64_t num_keys = call.keys ? sizes.num_keys : sizes.num_queries;
  if (bytes_.below(4) == 3) {
    Array lengths = property::filled(bytes_.flag() ? Dims{sizes.batch} : Dims{sizes.batch, sizes.num_queries}, 0);
    for (double& length : lengths.values) {
      length = static_cast<double>(bytes_.next() % (num_keys + 1)) + (bytes_.rarely() ? 1.0 : 0.0);
    }
    constexpr heed_dtype kDtypes[] = {HEED_I32, HEED_I64, HEED_F32, HEED_F64};
    call.valid_lens = property::make_input(std::move(lengths), kDtypes[bytes_.rarely() ? 3 : bytes_.below(3)]);
  }
  const auto pairs = [&] {
    if (bytes_.flag()) return Dims{sizes.num_queries, num_keys};
    Dims dims = {sizes.batch, sizes.num_heads, sizes.num_queries, num_keys};
    for (int64_t& dim : dims) {
      if (bytes_.flag()) dim = 1;
    }
    return dims;
  };
  if (bytes_.below(4) == 3) {
    Array mask = property::filled(pairs(), 0);
    for (double& element : mask.values) element = static_cast<double>(bytes_.next() % 3);
    call.mask = property::make_input(std::move(mask), HEED_BOOL);
  }
  if (bytes_.below(4) == 3) {
    call.bias = random_input(pairs(), bytes_.flag() ? HEED_F32 : dtype);
    if (!call.bias->contents.values.empty() && bytes_.flag()) {
      Array contents = call.bias->contents;
      contents.values[bytes_.next() % contents.values.size()] = -HUGE_VAL;
      call.bias = property::make_input(std::move(contents), call.bias->dtype, call.bias->strides);
    }
  }
  call.training = bytes_.flag() ? 1 : 0;
  call.dropout_seed = bytes_.next();
  // Drawn from the seed, so that the bytes of the corpus keep their meaning.
  if (call.dropout_seed % 4 == 3) call.alibi_slopes = random_input(Dims{sizes.num_heads}, HEED_F32);
  if (call.dropout_seed / 4 % 4 == 2) {
    property::Random random(call.dropout_seed);
    Array sinks = property::filled({sizes.num_heads}, 0);
    for (double& sink : sinks.values) sink = random.chance(0.1) ? -HUGE_VAL : random.uniform(-3, 3);
    call.sinks = property::make_input(std::move(sinks));
  }
  if (call.dropout_seed / 16 % 4 == 2) add_sequences(call, sizes, num_keys);
  if (call.dropout_seed % 64 == kSeedWithMask) add_attention_mask(call, inputs, sizes, num_keys, bytes_);

  inputs.queries = tensors.add(call.queries);
  if (call.keys) inputs.keys = tensors.add(*call.keys);
  if (call.values) inputs.values = tensors.add(*call.values);
  if (call.valid_lens) inputs.valid_lens = tensors.add(*call.valid_lens);
  if (call.mask) inputs.mask = tensors.add(*call.mask);
  if (call.bias) inputs.bias = tensors.add(*call.bias);
  if (call.alibi_slopes) inputs.alibi_slopes = tensors.add(*call.alibi_slopes);
  if (call.sinks) inputs.sinks = tensors.add(*call.sinks);
  if (call.attention_mask) inputs.attention_mask = tensors.add(*call.attention_mask);
  if (call.positions) sequences.positions = tensors.add(*call.positions);
  if (call.query_lens) sequences.query_lens = tensors.add(*call.query_lens);
  if (call.query_offsets) sequences.query_offsets = tensors.add(*call.query_offsets);
  if (call.key_offsets) sequences.key_offsets = tensors.add(*call.key_offsets);
  if (call.key_positions) sequences.key_positions = tensors.add(*call.key_positions);
  if (call.positions || call.query_lens || call.query_offsets) inputs.sequences = &sequences;
  inputs.dropout_seed = call.dropout_seed;
  inputs.training = call.training;
}

// Replaces an input by a fitting tensor of the program, such as an earlier output of a layer; rarely by one that does
// not fit.
void Machine::replace_an_input(property::Call& call, heed_layer_inputs& inputs) {
  const TensorEntry* entry = tensors_.pick(bytes_);
  if (entry == nullptr || !entry->model.can_be_read()) return;
  const heed_tensor* tensor = entry->handle.get();
  switch (bytes_.below(6)) {
    case 0:
      inputs.queries = tensor;
      call.queries = read_input(tensor);
      break;
    case 1:
      inputs.keys = tensor;
      call.keys = read_input(tensor);
      break;
    case 2:
      inputs.values = tensor;
      call.values = read_input(tensor);
      break;
    case 3:
      inputs.valid_lens = tensor;
      call.valid_lens = read_input(tensor);
      break;
    case 4:
      inputs.mask = tensor;
      call.mask = read_input(tensor);
      break;
    default:
      inputs.bias = tensor;
      call.bias = read_input(tensor);
      break;
  }
}

// False if there are no outputs for a call.
bool Machine::choose_outputs(const LayerEntry& layer, const property::Call& call, const heed_layer_inputs& inputs,
                             bool fits, heed_layer_outputs& outputs, CallTensors& tensors) {
  auto wanted = static_cast<int32_t>(bytes_.rarely() ? bytes_.size() : 1 + bytes_.below(kAllWanted));
  // Packed batches have no weights.
  if (call.query_offsets && wanted > HEED_WANT_WEIGHTS) wanted &= ~HEED_WANT_WEIGHTS;
  if (!fits || bytes_.flag()) {
    const Passed passed(inputs, bytes_);
    if (bytes_.rarely()) outputs.weights = handle_of(tensors_.pick(bytes_));
    const heed_layer_outputs before = outputs;
    if (!succeeded(heed_layer_create_outputs(layer.handle.get(), passed.get(), wanted, &outputs))) {
      require(outputs.output == before.output && outputs.weights == before.weights &&
                  outputs.log_sum_exp == before.log_sum_exp,
              "a call that failed left its outputs");
      return false;
    }
    require((outputs.output != nullptr) == ((wanted & HEED_WANT_OUTPUT) != 0), "what is wanted is made");
    if (outputs.output != nullptr) tensors.keep(outputs.output);
    if (outputs.weights != nullptr) tensors.keep(outputs.weights);
    if (outputs.log_sum_exp != nullptr) tensors.keep(outputs.log_sum_exp);
    return true;
  }
  const property::ResultDims dims = property::result_dims(call);
  if (!are_small(dims.output) || !are_small(dims.weights)) return false;
  // A zero or negative stride of an output is a mistake.
  const auto layout = static_cast<property::Layout>(bytes_.rarely() ? bytes_.below(5) : bytes_.below(3));
  const heed_dtype dtype = bytes_.flag() ? HEED_F32 : call.queries.dtype;
  const auto make = [&](const Dims& right_dims) {
    Dims made = right_dims;
    if (bytes_.rarely()) {
      const int64_t dim = bytes_.below(4);
      const auto axis = static_cast<size_t>(bytes_.below(2));
      if (axis < made.size()) made[axis] = dim;
    }
    // The weights that a packed batch does not have are a tensor without axes here.
    return tensors.add_output(dtype, made, made.empty() ? property::Layout::RowMajor : layout, bytes_.next());
  };
  if ((wanted & HEED_WANT_OUTPUT) != 0) outputs.output = make(dims.output);
  if ((wanted & HEED_WANT_WEIGHTS) != 0) outputs.weights = make(dims.weights);
  if ((wanted & HEED_WANT_LOG_SUM_EXP) != 0) {
    outputs.log_sum_exp = tensors.add_output(HEED_F32, dims.log_sum_exp, layout, bytes_.next());
  }
  if (bytes_.rarely()) outputs.weights = outputs.output;
  return true;
}

void Machine::call_layer() {
  const LayerEntry* layer = layers_.pick(bytes_);
  heed_context* context = handle_of(contexts_.pick(bytes_));
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  if (layer == nullptr || context == nullptr) {
    require(!succeeded(heed_layer_forward(handle_of(layer), &inputs, nullptr, &outputs)), "a call needs a layer");
    return;
  }
  Call call;
  call.options = layer->options;
  call.parameters = parameters_of(layer->handle.get());
  call.kind = layer->kind == Kind::DotProductRank3 && bytes_.flag() ? Kind::DotProductRank4 : layer->kind;
  CallTensors tensors(context);
  heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
  choose_inputs(call, inputs, sequences, tensors);
  const bool replaces = inputs.queries == nullptr || bytes_.below(16) == 15;
  if (replaces) replace_an_input(call, inputs);
  if (bytes_.rarely()) call.training = inputs.training = bytes_.enumerator(1);
  if (!choose_outputs(*layer, call, inputs, !replaces, outputs, tensors)) return;

  const Results before = read_results(outputs);
  const Passed passed_inputs(inputs, bytes_);
  if (!passed_inputs.is_whole()) {
    for (std::optional<Input> Call::*const member :
         {&Call::alibi_slopes, &Call::sinks, &Call::positions, &Call::query_lens, &Call::query_offsets,
          &Call::key_offsets, &Call::key_positions, &Call::attention_mask})
      (call.*member).reset();
  }
  const Passed passed_outputs(outputs, bytes_);
  size_t num_bytes = 0x5EED;
  const bool has_size =
      succeeded(heed_layer_workspace_size(layer->handle.get(), passed_inputs.get(), passed_outputs.get(), &num_bytes));
  require(has_size || num_bytes == 0x5EED, "a call that failed left its out-parameter");
  const auto explained = text_of(
      [&](char* text, size_t capacity, size_t* needed) {
        return heed_layer_explain(layer->handle.get(), passed_inputs.get(), passed_outputs.get(), text, capacity,
                                  needed);
      },
      bytes_);
  require(!explained || has_size, "what can be explained has a workspace");

  heed_workspace* workspace = bytes_.flag() ? handle_of(workspaces_.pick(bytes_)) : nullptr;
  const bool has_run =
      succeeded(heed_layer_forward(layer->handle.get(), passed_inputs.get(), workspace, passed_outputs.get()));
  tensors.require_unchanged_inputs();
  const Results after = read_results(outputs);
  if (!has_run) {
    require(are_the_same(before, after), "a call that is refused writes nothing");
    return;
  }
  require(explained.has_value(), "what can be run can be explained");
  // The replaced input may have another rank, which determines the rank of the call. A packed batch has an axis less.
  if (layer->kind == Kind::DotProductRank3) {
    const size_t rank_of_heads = call.query_offsets ? 3 : 4;
    call.kind = call.queries.contents.dims.size() == rank_of_heads ? Kind::DotProductRank4 : Kind::DotProductRank3;
  }
  require(!passed_inputs.is_whole() || inputs.num_last_rows == 0, "attention gives all rows");
  std::optional<Call> solved = call;
  if (call.attention_mask) {
    const std::vector<double>& elements = call.attention_mask->contents.values;
    require(std::all_of(elements.begin(), elements.end(), [](double element) { return element == 0 || element == 1; }),
            "a mask of other numbers is refused");
    require(!call.valid_lens && !call.query_offsets, "a mask is not taken with lengths, nor in a packed batch");
    solved = without_attention_mask(call);
  }
  if (!layer->has_positions && solved) {
    const testing::AssertionResult verdict = property::agree(after, property::solve(*solved));
    require(static_cast<bool>(verdict), verdict.message());
  }

  // Memory of exactly this size, so that a sanitizer finds accesses outside.
  const auto scratch = std::make_unique<uint8_t[]>(num_bytes);
  const Workspace exact(made_by(&capi_test::OutParameters::workspace, [&](heed_workspace** out) {
    return heed_workspace_wrap(context, num_bytes == 0 ? nullptr : scratch.get(), num_bytes, out);
  }));
  require(succeeded(heed_layer_forward(layer->handle.get(), passed_inputs.get(), exact.get(), passed_outputs.get())),
          "a workspace of the size that was asked for is large enough");
  tensors.require_unchanged_inputs();
  require(are_the_same(after, read_results(outputs)), "a workspace changes no bit");
  if (passed_inputs.is_whole()) gradients_of(context, layer->handle.get(), inputs);
  tensors.require_unchanged_inputs();
}

// Shape-only tensors of any size: nothing may be accessed, and nothing may overflow.
void Machine::ask_about_shapes() {
  const LayerEntry* layer = layers_.pick(bytes_);
  heed_context* context = handle_of(contexts_.pick(bytes_));
  const heed_dtype dtype = float_dtype();
  const auto rank = static_cast<int32_t>(bytes_.rarely() ? bytes_.below(6) : 3 + bytes_.below(2));
  const auto shape = [&]() -> Tensor {
    const int64_t sizes[] = {bytes_.size(), bytes_.size(), bytes_.size(), bytes_.size(), bytes_.size()};
    return Tensor(made_by(&capi_test::OutParameters::tensor, [&](heed_tensor** out) {
      return heed_tensor_wrap(context, dtype, rank, sizes, nullptr, nullptr, nullptr, nullptr, out);
    }));
  };
  const Tensor queries = shape();
  const Tensor keys = bytes_.flag() ? shape() : nullptr;
  const Tensor values = bytes_.flag() ? shape() : nullptr;
  const Tensor output = shape();
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  inputs.queries = queries.get();
  inputs.keys = keys.get();
  inputs.values = values.get();
  outputs.output = output.get();
  const Passed passed_inputs(inputs, bytes_);
  const heed_layer* handle = handle_of(layer);
  size_t num_bytes = 0;
  const bool has_size = succeeded(heed_layer_workspace_size(handle, passed_inputs.get(), &outputs, &num_bytes));
  const auto explained = text_of(
      [&](char* text, size_t capacity, size_t* needed) {
        return heed_layer_explain(handle, passed_inputs.get(), &outputs, text, capacity, needed);
      },
      bytes_);
  require(explained.has_value() == has_size, "without lengths both look at the same");
  heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
  if (!succeeded(heed_layer_create_outputs(handle, passed_inputs.get(), kAllWanted, &made))) return;
  const Tensor all[] = {Tensor(made.output), Tensor(made.weights), Tensor(made.log_sum_exp)};
  for (const Tensor& tensor : all) require(tensor != nullptr, "all that is wanted is made");
}

}  // namespace heed::fuzz
