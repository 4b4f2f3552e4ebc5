// SPDX-License-Identifier: Apache-2.0
#include "fuzz/models/model_calls.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capi/support/objects.h"
#include "fuzz/calls/checks.h"

namespace heed::fuzz {
namespace {

using capi_test::Cache;
using capi_test::Dims;
using capi_test::Layer;
using capi_test::Tensor;
using capi_test::Workspace;

// Of the images and features of the models in tests/golden.
constexpr int64_t kChannels = 3;
constexpr int64_t kImageSize = 12;
constexpr int64_t kMels = 8;

// Each child that is asked for is made.
Layer child_of(const heed_layer* layer, const char* name) {
  heed_layer* made =
      made_by(&capi_test::OutParameters::layer, [&](heed_layer** out) { return heed_layer_child(layer, name, out); });
  require(made != nullptr, std::string("a child with a name is there: ") + name);
  return Layer(made);
}

bool has_child(const heed_layer* layer, const std::string& name) {
  for (int64_t i = 0; i < heed_layer_child_count(layer); ++i) {
    if (heed_layer_child_name(layer, i) == name) return true;
  }
  return false;
}

void visit_children(const heed_layer* layer) {
  const int64_t count = heed_layer_child_count(layer);
  require(count >= 0, "a layer has a number of children");
  for (int64_t i = 0; i < count; ++i) {
    const char* const name = heed_layer_child_name(layer, i);
    require(name != nullptr && *name != '\0', "every child has a name");
    // The first layers are enough of a long stack.
    if (i < 12) visit_children(child_of(layer, name).get());
  }
  require(heed_layer_is_initialized(layer) == 1, "a model from a folder has its parameters");
}

void require_parameters(const heed_layer* model, size_t num_file_bytes) {
  size_t num_bytes = 0;
  for (int64_t i = 0; i < heed_layer_parameter_count(model); ++i) {
    const char* const name = heed_layer_parameter_name(model, i);
    require(name != nullptr, "every parameter has a name");
    heed_tensor* made = nullptr;
    require(succeeded(heed_layer_parameter(model, name, &made)), "every parameter is set");
    num_bytes += heed_tensor_num_bytes(Tensor(made).get());
  }
  // Norms of 1 + weight become F32, and parameters of other dtypes do not grow.
  require(num_bytes <= 2 * num_file_bytes, "the parameters come from the file");
}

// A model reads the file that it saves, and keeps its numbers.
void save_and_load(heed_layer* model) {
  size_t num_bytes = 0;
  require(succeeded(heed_layer_save_memory(model, nullptr, 0, &num_bytes)), "a model can be saved");
  std::vector<uint8_t> file(num_bytes);
  require(succeeded(heed_layer_save_memory(model, file.data(), file.size(), nullptr)), "there is room");
  require(succeeded(heed_layer_load_memory(model, file.data(), file.size(), nullptr)), "what was saved can be loaded");
  std::vector<uint8_t> again(num_bytes);
  require(succeeded(heed_layer_save_memory(model, again.data(), again.size(), nullptr)), "and saved again");
  require(file == again, "saving and loading changes no bit");
}

Tensor make_numbers(heed_context* context, const Dims& dims, uint8_t seed, bool are_ids) {
  Tensor tensor = capi_test::make_tensor(context, dims, are_ids ? HEED_I32 : HEED_F32);
  const int64_t count = heed_tensor_num_elements(tensor.get());
  std::vector<int32_t> ids;
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<int32_t>((seed + 13 * i) % 40);
    ids.push_back(number);
    numbers.push_back(static_cast<float>(number) / 16.0F - 1.0F);
  }
  const void* const elements = are_ids ? static_cast<const void*>(ids.data()) : numbers.data();
  require(succeeded(heed_tensor_write(tensor.get(), elements, static_cast<size_t>(count) * 4)), "a tensor is written");
  return tensor;
}

// Runs the layer. Null if it refuses.
Tensor run(const heed_layer* layer, const heed_layer_inputs& inputs, const heed_layer_tap* tap = nullptr) {
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  if (!succeeded_in_little_memory(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &outputs)))
    return nullptr;
  Tensor output(outputs.output);
  if (tap != nullptr) {
    outputs.taps = &tap;
    outputs.num_taps = 1;
  }
  return succeeded_in_little_memory(heed_layer_forward(layer, &inputs, nullptr, &outputs)) ? std::move(output)
                                                                                           : nullptr;
}

// The same call with a workspace of exactly the size that it needs, and as JSON. `output`: of the call without; null if it was
// refused.
void repeat(heed_context* context, const heed_layer* layer, const heed_layer_inputs& inputs, const Tensor& output) {
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  if (!succeeded(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &outputs))) return;
  const Tensor again(outputs.output);
  size_t num_bytes = 0;
  const bool has_size = succeeded(heed_layer_workspace_size(layer, &inputs, &outputs, &num_bytes));
  size_t num_chars = 0;
  const bool is_explained = succeeded(heed_layer_explain(layer, &inputs, &outputs, nullptr, 0, &num_chars));
  require(has_size || !is_explained, "what can be explained has a workspace");
  if (output == nullptr) return;
  require(is_explained && num_chars > 2, "what can be run can be explained");
  const auto scratch = std::make_unique<uint8_t[]>(num_bytes);
  const Workspace exact(made_by(&capi_test::OutParameters::workspace, [&](heed_workspace** out) {
    return heed_workspace_wrap(context, num_bytes == 0 ? nullptr : scratch.get(), num_bytes, out);
  }));
  require(succeeded_in_little_memory(heed_layer_forward(layer, &inputs, exact.get(), &outputs)),
          "a workspace of the size that was asked for is large enough");
  require(capi_test::read_bytes(output.get()) == capi_test::read_bytes(again.get()), "a workspace changes no bit");
}

Cache make_cache(heed_context* context, const heed_layer* model, int64_t batch, int64_t capacity) {
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  if (!succeeded(heed_layer_cache_options(model, &options))) return nullptr;
  options.max_sequences = batch;
  options.capacity = capacity;
  heed_cache* made = nullptr;
  if (!succeeded_in_little_memory(heed_cache_create(context, &options, &made))) return nullptr;
  return Cache(made);
}

// The calls of one model.
class ModelCalls {
 public:
  ModelCalls(heed_context* context, const heed_layer* model, const CallChoices& choices, bool is_unchanged)
      : context_(context), model_(model), choices_(choices), is_unchanged_(is_unchanged) {}

  void run_all() {
    if (choices_.rows_mask && !has_child(model_, "patches")) run_masked();
    if (has_child(model_, "encoder")) return run_transformer();
    inputs_.queries = keep(make_source(model_, choices_.num_rows));
    heed_cache_options ignored = HEED_CACHE_OPTIONS_INIT;
    const bool is_decoder = !has_child(model_, "patches") && succeeded(heed_layer_cache_options(model_, &ignored));
    if (choices_.has_lens && !has_child(model_, "patches")) {
      Tensor lens = make_lens(choices_.num_rows);
      if (is_decoder) {
        decoder_.self_valid_lens = keep(std::move(lens));
        inputs_.decoder = &decoder_;
      } else {
        inputs_.valid_lens = keep(std::move(lens));
      }
    }
    if (has_child(model_, "token_type_embedding") && choices_.seed % 2 == 1)
      inputs_.token_types = keep(capi_test::make_tensor(context_, {choices_.batch, choices_.num_rows}, HEED_I64));
    run_and_tap("layers.0.self_attention");
    inputs_.decoder = nullptr;
    if (is_decoder) append();
  }

 private:
  const heed_tensor* keep(Tensor tensor) { return tensors_.emplace_back(std::move(tensor)).get(); }

  // What the encoder or a model without one reads.
  Tensor make_source(const heed_layer* stack, int64_t num_rows) const {
    if (has_child(stack, "patches"))
      return make_numbers(context_, {choices_.batch, kChannels, kImageSize, kImageSize}, choices_.seed, false);
    if (has_child(stack, "audio"))
      return make_numbers(context_, {choices_.batch, kMels, 2 * num_rows}, choices_.seed, false);
    return make_numbers(context_, {choices_.batch, num_rows}, choices_.seed, true);
  }

  Tensor make_lens(int64_t num_rows) const {
    std::vector<int32_t> lens;
    for (int64_t b = 0; b < choices_.batch; ++b)
      lens.push_back(static_cast<int32_t>((choices_.seed / 16 + b) % (num_rows + 1)));
    return capi_test::make_tensor_of(context_, {choices_.batch}, lens);
  }

  // Fails if a model whose files are unchanged refuses.
  Tensor run_call(const heed_layer_inputs& inputs, const char* what, const heed_layer_tap* tap = nullptr) {
    Tensor output = run(model_, inputs, tap);
    require(output != nullptr || !is_unchanged_, std::string("a model of tests/golden runs: ") + what);
    return output;
  }

  void run_and_tap(const char* attention) {
    const Tensor output = run_call(inputs_, "the whole");
    repeat(context_, model_, inputs_, output);
    if (!choices_.is_tapped || output == nullptr) return;
    heed_layer_tap tap = HEED_LAYER_TAP_INIT;
    require(succeeded_in_little_memory(
                heed_layer_create_tap(model_, &inputs_, attention, HEED_WANT_WEIGHTS | HEED_WANT_LOG_SUM_EXP, &tap)),
            "a call that runs can be tapped");
    const Tensor weights(tap.weights);
    const Tensor log_sum_exp(tap.log_sum_exp);
    const Tensor tapped = run_call(inputs_, "with a tap", &tap);
    require(tapped != nullptr && capi_test::read_bytes(tapped.get()) == capi_test::read_bytes(output.get()),
            "a tap changes no bit of the output");
  }

  // The rows once more, and one row behind them, in a cache.
  void append() {
    const Cache cache = make_cache(context_, model_, choices_.batch, choices_.num_rows + 1);
    if (cache == nullptr) return;
    heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
    cached.cache = cache.get();
    heed_layer_inputs inputs = inputs_;
    inputs.valid_lens = nullptr;
    inputs.cache = &cached;
    int64_t length = 0;
    const Tensor one = make_numbers(context_, {choices_.batch, 1}, choices_.seed, true);
    for (const heed_tensor* const rows : {inputs_.queries, static_cast<const heed_tensor*>(one.get())}) {
      inputs.queries = rows;
      if (run_call(inputs, "with a cache") != nullptr) length += heed_tensor_dim(rows, 1);
      require(heed_cache_length(cache.get(), 0) == length, "a cache has the rows of the calls that succeeded");
    }
  }

  // ---- masks ---------------------------------------------------------------------------------------------------------

  // Ids of these rows of batch elements first to first + count - 1, each of `num_rows`. Hidden ones are none that a table has.
  Tensor make_ids(int64_t first, int64_t count, int64_t num_rows, const RowMask& mask) const {
    std::vector<int32_t> ids;
    for (int64_t b = first; b < first + count; ++b) {
      for (int64_t row = 0; row < num_rows; ++row) ids.push_back(mask.shows(b, row) ? id_of(b * num_rows + row) : -1);
    }
    return capi_test::make_tensor_of(context_, {count, num_rows}, ids);
  }

  Tensor make_visible_ids(int64_t b, int64_t num_rows, const RowMask& mask) const {
    std::vector<int32_t> ids;
    for (const int64_t row : mask.visible(b)) ids.push_back(id_of(b * num_rows + row));
    return capi_test::make_tensor_of(context_, {1, static_cast<int64_t>(ids.size())}, ids);
  }

  int32_t id_of(int64_t number) const { return static_cast<int32_t>((choices_.seed + 13 * number) % 40); }

  // A text has the bits that its visible ids have alone, and so has its last row, if it alone is wanted.
  void run_masked() {
    const RowMask& mask = *choices_.rows_mask;
    const bool is_transformer = has_child(model_, "encoder");
    const Layer encoder = is_transformer ? child_of(model_, "encoder") : nullptr;
    const heed_layer* const source = is_transformer ? encoder.get() : model_;
    const bool reads_audio = has_child(source, "audio");
    if (reads_audio && !is_transformer) return;
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
    inputs.queries = keep(make_ids(0, choices_.batch, choices_.num_rows, mask));
    const heed_tensor* const of_rows = keep(mask.tensor(context_, 0, choices_.batch));
    heed_tensor* audio = nullptr;
    bool is_wrong = mask.is_wrong();
    if (!is_transformer) {
      inputs.attention_mask = of_rows;
    } else {
      decoder.self_attention_mask = of_rows;
      inputs.decoder = &decoder;
      if (reads_audio) {
        audio = const_cast<heed_tensor*>(keep(make_source(source, choices_.num_keys)));
        inputs.keys = audio;
      } else {
        inputs.keys = keep(make_ids(0, choices_.batch, choices_.num_keys, *choices_.keys_mask));
        inputs.attention_mask = keep(choices_.keys_mask->tensor(context_, 0, choices_.batch));
        is_wrong = is_wrong || choices_.keys_mask->is_wrong();
      }
    }
    const Tensor whole = run(model_, inputs);
    require(whole == nullptr || !is_wrong, "a wrong mask is refused");
    require(whole != nullptr || is_wrong || !is_unchanged_, "a model of tests/golden takes masks");
    repeat(context_, model_, inputs, whole);
    if (whole == nullptr) return;
    inputs.num_last_rows = 1;
    const Tensor last = run(model_, inputs);
    require(last != nullptr, "a call that gives all rows gives the last ones");
    repeat(context_, model_, inputs, last);
    const std::vector<uint8_t> all = capi_test::read_bytes(whole.get());
    const std::vector<uint8_t> of_last = capi_test::read_bytes(last.get());
    const size_t size = of_last.size() / static_cast<size_t>(choices_.batch);
    for (int64_t b = 0; b < choices_.batch; ++b) {
      heed_layer_inputs alone = HEED_LAYER_INPUTS_INIT;
      alone.queries = keep(make_visible_ids(b, choices_.num_rows, mask));
      if (is_transformer && !reads_audio)
        alone.keys = keep(make_visible_ids(b, choices_.num_keys, *choices_.keys_mask));
      if (audio != nullptr) alone.keys = keep(capi_test::make_slice(audio, 0, b, 1));
      const Tensor text = run(model_, alone);
      require(text != nullptr, "the visible ids of a text can be computed alone");
      const std::vector<uint8_t> expected = capi_test::read_bytes(text.get());
      const std::vector<int64_t> rows = mask.visible(b);
      for (size_t i = 0; i < rows.size(); ++i) {
        const auto place = static_cast<size_t>(b * choices_.num_rows + rows[i]);
        require(std::equal(expected.begin() + static_cast<std::ptrdiff_t>(i * size),
                           expected.begin() + static_cast<std::ptrdiff_t>((i + 1) * size),
                           all.begin() + static_cast<std::ptrdiff_t>(place * size)),
                "a text has the bits of its visible ids alone");
      }
      const auto begin = of_last.begin() + static_cast<std::ptrdiff_t>(size) * b;
      const auto end = begin + static_cast<std::ptrdiff_t>(size);
      if (rows.empty())
        require(std::all_of(begin, end, [](uint8_t byte) { return byte == 0; }), "a text without ids has no output");
      else
        require(std::equal(begin, end, expected.end() - static_cast<std::ptrdiff_t>(size)),
                "the last row has the bits that it has among all");
    }
  }

  void run_transformer() {
    const Layer encoder = child_of(model_, "encoder");
    const heed_tensor* const source = keep(make_source(encoder.get(), choices_.num_keys));
    const heed_tensor* const rows =
        keep(make_numbers(context_, {choices_.batch, choices_.num_rows}, choices_.seed, true));
    inputs_.keys = source;
    inputs_.queries = rows;
    if (choices_.has_lens) inputs_.valid_lens = keep(make_lens(choices_.num_keys));
    run_and_tap("decoder.layers.0.cross_attention");
    inputs_.queries = nullptr;
    const Tensor memory = run_call(inputs_, "the encoder alone");
    if (memory == nullptr) return;
    fill_memory(heed_tensor_dim(memory.get(), 1), rows);
    inputs_.keys = nullptr;
    inputs_.queries = rows;
    inputs_.decoder = &decoder_;
    decoder_.memory = memory.get();
    append();
  }

  void fill_memory(int64_t num_keys, const heed_tensor* rows) {
    const Cache memory = make_cache(context_, model_, choices_.batch, std::max<int64_t>(num_keys, 1));
    if (memory == nullptr) return;
    heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
    cached.cache = memory.get();
    heed_layer_inputs inputs = inputs_;
    inputs.cache = &cached;
    const bool is_filled = succeeded_in_little_memory(heed_layer_fill_cache(model_, &inputs, nullptr));
    require(is_filled || !is_unchanged_, "a model of tests/golden fills a cache");
    if (!is_filled) return;
    heed_cache_inputs read = cached;
    read.use = HEED_CACHE_READ;
    heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
    decoder.memory_cache = &read;
    heed_layer_inputs step = HEED_LAYER_INPUTS_INIT;
    step.queries = rows;
    step.decoder = &decoder;
    run_call(step, "with a cache of the memory");
  }

  heed_context* context_;
  const heed_layer* model_;
  const CallChoices& choices_;
  const bool is_unchanged_;
  heed_layer_inputs inputs_ = HEED_LAYER_INPUTS_INIT;
  heed_decoder_inputs decoder_ = HEED_DECODER_INPUTS_INIT;
  std::vector<Tensor> tensors_;
};

}  // namespace

bool succeeded_in_little_memory(heed_status status) {
  require(status != HEED_ERROR_OUT_OF_MEMORY, std::string("small files need little memory: ") + heed_last_error());
  return succeeded(status);
}

CallChoices::CallChoices(Bytes& bytes) {
  const uint8_t sizes = bytes.next();
  batch = 1 + sizes % 2;
  num_rows = 1 + sizes / 2 % 5;
  num_keys = 1 + sizes / 16 % 4;
  seed = bytes.next();
  const uint8_t flags = bytes.next();
  has_lens = flags % 4 == 3;
  is_tapped = flags / 4 % 4 == 3;
  is_saved = flags / 16 == 15;
  // No older input has these flags.
  if (flags < 166 || flags > 173) return;
  rows_mask.emplace(batch, num_rows, bytes);
  keys_mask.emplace(batch, num_keys, bytes);
}

void use_model(heed_context* context, heed_layer* model, const CallChoices& choices, size_t num_file_bytes,
               bool is_unchanged) {
  visit_children(model);
  require_parameters(model, num_file_bytes);
  // ALBERT's one layer may be computed 4096 times, which takes seconds with sanitizers.
  constexpr int64_t kMostChildren = 64;
  if (heed_layer_child_count(model) > kMostChildren) return;
  if (choices.is_saved) save_and_load(model);
  ModelCalls(context, model, choices, is_unchanged).run_all();
}

}  // namespace heed::fuzz
