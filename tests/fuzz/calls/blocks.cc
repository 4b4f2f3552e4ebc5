// SPDX-License-Identifier: Apache-2.0
// Norms, feed-forward networks, embeddings, encoder and decoder layers, stacks of them and Transformers: each call makes a
// layer, runs it with a batch, and with each element alone, with a tap, after it was saved and loaded, or with caches. All give the
// same bits. Wrong inputs must be refused.
#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capi/support/attention_call.h"
#include "fuzz/calls/checks.h"
#include "fuzz/calls/machine.h"
#include "support/activations.h"

namespace heed::fuzz {
namespace {

using capi_test::Cache;

enum class BlockKind {
  Norm,
  FeedForward,
  Embedding,
  EncoderLayer,
  DecoderLayer,
  Encoder,
  Decoder,
  Transformer,
  Images,
  Audio,
};

// The sizes of capi_test::BlockOptions: rows of the layers, ids, channels and pixels of a patch, and features.
constexpr int64_t kRowSize = 8;
constexpr int64_t kNumIds = 10;
constexpr int64_t kChannels = 3;
constexpr int64_t kPatchHeight = 2;
constexpr int64_t kPatchWidth = 3;
constexpr int64_t kMels = 4;
constexpr int64_t kMostRows = 6;

// Options that fit each other, and rarely do not.
class BlockChoice : public capi_test::BlockOptions {
 public:
  explicit BlockChoice(Bytes& bytes) : kind(static_cast<BlockKind>(bytes.below(10))) {
    choose_attention(attention, bytes);
    choose_attention(causal, bytes);
    feed_forward.hidden_size = 1 + bytes.below(12);
    feed_forward.activation = static_cast<int32_t>(bytes.below(kNumActivationsOfC));
    const uint8_t flags = bytes.next();
    feed_forward.gated = flags % 2;
    feed_forward.no_bias = flags / 2 % 2;
    norm.kind = flags / 4 % 2;
    norm.no_bias = flags / 8 % 2;
    encoder_layer.norm_first = decoder_layer.norm_first = flags / 16 % 2;
    has_cross_attention = flags / 32 % 2 == 1 || kind == BlockKind::Transformer;
    encoder.share_layers = decoder.share_layers = flags / 64 == 3 ? 1 : 0;
    choose_norms(bytes);
    decoder_layer.dropout = 0;
    if (!has_cross_attention) decoder_layer.cross_attention = nullptr;
    encoder.num_layers = decoder.num_layers = bytes.rarely() ? bytes.size() : 1 + bytes.below(3);
    encoder.final_norm = decoder.final_norm = bytes.flag() ? 1 : 0;
    choose_rows(bytes);
    if (bytes.rarely()) spoil(bytes);
  }

  Layer make(heed_context* context) const {
    return Layer(made_by(&capi_test::OutParameters::layer, [&](heed_layer** out) {
      const heed_status status = create(context, out);
      refusal = status == HEED_OK ? "" : heed_last_error();
      return status;
    }));
  }

  bool is_transformer() const { return kind == BlockKind::Transformer; }
  bool is_decoder() const { return kind == BlockKind::DecoderLayer || kind == BlockKind::Decoder; }
  bool is_stack() const { return kind >= BlockKind::Encoder; }
  // Whether queries, and a Transformer's keys, are ids.
  bool reads_ids() const { return kind == BlockKind::Embedding || (has_embedding && kind >= BlockKind::Encoder); }
  // Whether a row does not see those behind it.
  bool is_causal() const { return decoder_layer.self_attention->causal != HEED_CAUSAL_NONE; }

  const BlockKind kind;
  heed_embedding_options embedding = capi_test::ten_rows();
  bool has_cross_attention = false;
  bool has_embedding = false;
  bool is_spoiled = false;

  mutable std::string refusal;  // of `make`

 private:
  heed_status create(heed_context* context, heed_layer** out) const {
    switch (kind) {
      case BlockKind::Norm: return heed_layer_norm_create(context, &norm, out);
      case BlockKind::FeedForward: return heed_feed_forward_create(context, &feed_forward, out);
      case BlockKind::Embedding: return heed_embedding_create(context, &embedding, out);
      case BlockKind::EncoderLayer: return heed_encoder_layer_create(context, &encoder_layer, out);
      case BlockKind::DecoderLayer: return heed_decoder_layer_create(context, &decoder_layer, out);
      case BlockKind::Decoder: return heed_decoder_create(context, &decoder, out);
      case BlockKind::Transformer: return heed_transformer_create(context, &transformer, out);
      default: return heed_encoder_create(context, &encoder, out);
    }
  }

  void choose_attention(heed_multi_head_attention_options& options, Bytes& bytes) {
    const uint8_t choice = bytes.next();
    if (choice % 4 == 3) options.num_kv_heads = 1;
    if (choice / 4 % 4 == 3) options.head_size = 6;
    options.biases = choice / 16;
    options.causal = static_cast<int32_t>(bytes.below(HEED_CAUSAL_BOTTOM_RIGHT + 1));
    const uint8_t extras = bytes.next();
    if (extras % 4 == 3) options.rope = &rope_;
    if (extras / 4 % 4 == 3) options.qk_norm_epsilon = 1e-6F;
    options.sinks = extras / 16 % 4 == 3 ? 1 : 0;
    if (extras / 64 == 1) options.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
    if (extras / 64 == 2) options.alibi = HEED_ALIBI_ADDED;
    if (extras / 64 != 3) return;
    options.window = HEED_WINDOW_BOTTOM_RIGHT;
    options.window_left = bytes.below(4);
    options.window_right = bytes.below(4) - 1;
  }

  void choose_norms(Bytes& bytes) {
    const uint8_t choice = bytes.next();
    if (encoder_layer.norm_first == 1) {
      encoder_layer.output_norms = decoder_layer.output_norms = choice % 4 == 3 ? 1 : 0;
      encoder_layer.no_first_norm = decoder_layer.no_first_norm = choice / 4 % 4 == 3 ? 1 : 0;
    }
    if (encoder_layer.output_norms == 0 && choice / 16 % 4 == 3)
      encoder_layer.residual_scale = decoder_layer.residual_scale = 0.5F;
  }

  // What comes before the layers and behind them.
  void choose_rows(Bytes& bytes) {
    embedding.embedding_size = bytes.flag() ? 6 : 0;
    embedding.padding_index = -1;
    if (kind == BlockKind::Embedding) embedding.embedding_size = 6;
    patches_.size = audio_.size = 0;
    if (kind == BlockKind::Images) encoder.patches = &patches_;
    if (kind == BlockKind::Audio) encoder.audio = &audio_;
    const uint8_t choice = bytes.next();
    has_embedding = encoder.patches == nullptr && encoder.audio == nullptr && choice % 2 == 1;
    // A Transformer's embedding has the size of its rows.
    if (is_transformer()) embedding.embedding_size = 0;
    if (has_embedding && is_transformer()) transformer.embedding = &embedding;
    if (has_embedding && !is_transformer()) encoder.embedding = decoder.embedding = &embedding;
    if (has_embedding && !is_transformer() && choice / 2 % 2 == 1)
      encoder.num_token_types = decoder.num_token_types = 2;
    if (choice / 4 % 2 == 1 && encoder.patches == nullptr) {
      positions_.kind = choice / 8 % 2 == 1 ? HEED_POSITIONS_LEARNED : HEED_POSITIONS_SINUSOIDAL;
      positions_.max_positions = 2 * kMostRows;
      encoder.positions = decoder.positions = &positions_;
    }
    encoder.embedding_norm = decoder.embedding_norm = choice / 16 % 2;
    if (choice / 32 % 2 == 1) {
      output.tied = has_embedding ? choice / 64 % 2 : 0;
      output.size = output.tied == 1 ? 0 : 5;
      output.bias = choice / 128;
      (is_transformer() ? transformer.output : decoder.output) = &output;
      if (!is_transformer()) encoder.output = &output;
    }
  }

  void spoil(Bytes& bytes) {
    is_spoiled = true;
    switch (bytes.below(12)) {
      case 0: feed_forward.hidden_size = bytes.size(); break;
      case 1: attention.num_heads = bytes.size(); break;
      case 2: norm.epsilon = bytes.flag() ? NAN : -1.0F; break;
      case 3: encoder_layer.output_norms = decoder_layer.output_norms = bytes.enumerator(1); break;
      case 4: encoder.embedding_norm = decoder.embedding_norm = bytes.enumerator(1); break;
      case 5: output.size = bytes.size(); break;
      case 6: encoder.num_token_types = decoder.num_token_types = bytes.size(); break;
      case 7: embedding.embedding_size = bytes.size(); break;
      case 8: feed_forward.activation = bytes.enumerator(kNumActivationsOfC - 1); break;
      case 9: causal.causal = bytes.enumerator(HEED_CAUSAL_BOTTOM_RIGHT); break;
      case 10: norm.kind = bytes.enumerator(HEED_NORM_RMS); break;
      default: encoder_layer.norm_first = decoder_layer.norm_first = bytes.enumerator(1); break;
    }
  }

  heed_rope_options rope_ = capi_test::whole_heads();
  heed_positional_encoding_options positions_ = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
  heed_patch_embedding_options patches_ = capi_test::six_pixels();
  heed_audio_embedding_options audio_ = capi_test::four_mels();
};

// A batch, and the bits that its calls must have.
class BlockCall {
 public:
  BlockCall(heed_context* context, heed_layer* layer, const BlockChoice& choice, Bytes& bytes)
      : context_(context), layer_(layer), choice_(choice) {
    batch_ = 1 + bytes.below(3);
    num_rows_ = bytes.below(kMostRows + 1);
    num_keys_ = bytes.below(kMostRows + 1);
    dtype_ = static_cast<heed_dtype>(bytes.below(3));
    id_dtype_ = bytes.flag() ? HEED_I32 : HEED_I64;
    seed_ = bytes.next();
    const uint8_t inputs = bytes.next();
    has_lens_ = inputs % 4 == 3 && reads_lengths();
    has_token_types_ =
        inputs / 4 % 2 == 1 && choice.encoder.num_token_types > 0 && choice.reads_ids() && choice.is_stack();
    for (int64_t b = 0; b < batch_; ++b) {
      lens_.push_back(static_cast<int32_t>(bytes.below(256) % (num_keys() + 1)));
      if (b == 0 && bytes.rarely()) wrong_id_ = bytes.flag() ? -1 : static_cast<int32_t>(kNumIds);
    }
    if (bytes.rarely()) lens_.front() = static_cast<int32_t>(num_keys()) + 1;
  }

  // The inputs of batch elements first to first + count - 1.
  heed_layer_inputs inputs(int64_t first, int64_t count) {
    heed_layer_inputs result = HEED_LAYER_INPUTS_INIT;
    result.queries =
        choice_.is_transformer() ? keep(rows(first, count, num_rows_, 1)) : keep(source(first, count, num_rows_, 1));
    if (choice_.is_transformer()) result.keys = keep(source(first, count, num_keys_, 2));
    if (choice_.is_decoder() && choice_.has_cross_attention)
      result.keys = keep(numbers({count, num_keys_, kRowSize}, first * num_keys_ * kRowSize, 2));
    if (has_lens_) result.valid_lens = keep(lens(first, count));
    if (has_token_types_) result.token_types = keep(ids({count, num_rows_}, first * num_rows_, 3, 2));
    return result;
  }

  // Whether a call may be refused.
  bool may_be_refused() const {
    const bool is_too_long = has_lens_ && lens_.front() > num_keys();
    const bool has_wrong_id = wrong_id_ && choice_.reads_ids() && batch_ * (num_rows_ + num_keys_) > 0;
    return choice_.is_spoiled || is_too_long || has_wrong_id;
  }

  bool initialize(uint64_t seed) {
    heed_layer_inputs all = inputs(0, batch_);
    return succeeded(heed_layer_initialize(layer_, &all, seed));
  }

  // The bytes of the output; nothing if the call is refused. `tap`: null, or to be filled.
  std::optional<std::vector<uint8_t>> run(const heed_layer_inputs& given, heed_workspace* workspace = nullptr,
                                          const heed_layer_tap* tap = nullptr) const {
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    if (!succeeded(heed_layer_create_outputs(layer_, &given, HEED_WANT_OUTPUT, &outputs))) return std::nullopt;
    const Tensor output(outputs.output);
    if (tap != nullptr) {
      outputs.taps = &tap;
      outputs.num_taps = 1;
    }
    const std::vector<uint8_t> before = capi_test::read_bytes(output.get());
    const heed_status status = heed_layer_forward(layer_, &given, workspace, &outputs);
    const std::string refusal = status == HEED_OK ? "" : heed_last_error();
    if (!succeeded(status)) {
      require(capi_test::read_bytes(output.get()) == before, "a call that is refused writes nothing");
      require(may_be_refused() || status == HEED_ERROR_NOT_FASTEST, "inputs that fit are not refused: " + refusal);
      return std::nullopt;
    }
    return capi_test::read_bytes(output.get());
  }

  void run_all(Bytes& bytes) {
    const heed_layer_inputs all = inputs(0, batch_);
    const std::optional<std::vector<uint8_t>> whole = run(all);
    ask(all, whole, bytes);
    if (!whole) return;
    require(!(has_lens_ && lens_.front() > num_keys()), "a length above the number of keys is refused");
    // All of them would take too long for each call.
    switch (bytes.below(4)) {
      case 0: run_each_alone(*whole); break;
      case 1: run_tapped(all, *whole); break;
      case 2: save_and_load(all, *whole); break;
      default:
        if (choice_.is_decoder()) append(all);
        if (choice_.is_transformer()) run_parts(all);
        break;
    }
  }

 private:
  bool reads_lengths() const {
    return (choice_.kind >= BlockKind::EncoderLayer) && !(choice_.is_decoder() && !choice_.has_cross_attention);
  }
  // Of the attention that lengths are for.
  int64_t num_keys() const {
    if (choice_.kind == BlockKind::Images) return num_patches(num_rows_) + 1;
    if (choice_.is_transformer() || choice_.is_decoder()) return num_keys_;
    return num_rows_;
  }
  static int64_t num_patches(int64_t rows) { return 2 * rows; }

  const heed_tensor* keep(Tensor tensor) { return tensors_.emplace_back(std::move(tensor)).get(); }

  // Element i of the whole batch's tensor is the same in a part of the batch. `first`: the first one of the part.
  Tensor numbers(const Dims& dims, int64_t first, int stream) const {
    Tensor tensor = capi_test::make_tensor(context_, dims, dtype_);
    const int64_t count = heed_tensor_num_elements(tensor.get());
    std::vector<float> values;
    for (int64_t i = first; i < first + count; ++i)
      values.push_back(static_cast<float>((i * (7 + 4 * stream) + seed_) % 23) / 8.0F - 1.5F);
    const Tensor floats = capi_test::make_tensor_of(context_, dims, values);
    require(succeeded(heed_tensor_copy(tensor.get(), floats.get())), "numbers can be converted");
    return tensor;
  }

  Tensor ids(const Dims& dims, int64_t first, int stream, int64_t end) const {
    Tensor tensor = capi_test::make_tensor(context_, dims, HEED_I32);
    const int64_t count = heed_tensor_num_elements(tensor.get());
    std::vector<int32_t> values;
    for (int64_t i = first; i < first + count; ++i)
      values.push_back(static_cast<int32_t>((i * (3 + 2 * stream) + seed_) % end));
    if (wrong_id_ && first == 0 && count > 0 && end == kNumIds) values.front() = *wrong_id_;
    require(succeeded(heed_tensor_write(tensor.get(), values.data(), values.size() * sizeof(int32_t))),
            "ids are written");
    if (id_dtype_ == HEED_I32) return tensor;
    Tensor wide = capi_test::make_tensor(context_, dims, HEED_I64);
    require(succeeded(heed_tensor_copy(wide.get(), tensor.get())), "ids can be converted");
    return wide;
  }

  // Rows, or their ids.
  Tensor rows(int64_t first, int64_t count, int64_t num_rows, int stream) const {
    if (choice_.reads_ids()) return ids({count, num_rows}, first * num_rows, stream, kNumIds);
    return numbers({count, num_rows, kRowSize}, first * num_rows * kRowSize, stream);
  }

  // The same, or what an encoder of images or audio reads.
  Tensor source(int64_t first, int64_t count, int64_t num_rows, int stream) const {
    if (choice_.kind == BlockKind::Images) {
      const Dims dims = {count, kChannels, 2 * kPatchHeight, num_rows * kPatchWidth};
      return numbers(dims, first * dims[1] * dims[2] * dims[3], stream);
    }
    if (choice_.kind == BlockKind::Audio)
      return numbers({count, kMels, 2 * num_rows}, first * kMels * 2 * num_rows, stream);
    return rows(first, count, num_rows, stream);
  }

  Tensor lens(int64_t first, int64_t count) const {
    const std::vector<int32_t> part(lens_.begin() + first, lens_.begin() + first + count);
    return capi_test::make_tensor_of(context_, {count}, part);
  }

  // The size of the workspace and the JSON must be there whenever the call can be run.
  void ask(const heed_layer_inputs& all, const std::optional<std::vector<uint8_t>>& whole, Bytes& bytes) const {
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    if (!succeeded(heed_layer_create_outputs(layer_, &all, HEED_WANT_OUTPUT, &outputs))) return;
    const Tensor output(outputs.output);
    size_t num_bytes = 0;
    const bool has_size = succeeded(heed_layer_workspace_size(layer_, &all, &outputs, &num_bytes));
    const auto explained =
        text_of([&](char* text, size_t capacity,
                    size_t* needed) { return heed_layer_explain(layer_, &all, &outputs, text, capacity, needed); },
                bytes);
    require(!explained || has_size, "what can be explained has a workspace");
    if (!whole) return;
    require(explained.has_value(), "what can be run can be explained");
    // Memory of exactly this size, so that a sanitizer finds accesses outside.
    const auto scratch = std::make_unique<uint8_t[]>(num_bytes);
    const Workspace exact(made_by(&capi_test::OutParameters::workspace, [&](heed_workspace** out) {
      return heed_workspace_wrap(context_, num_bytes == 0 ? nullptr : scratch.get(), num_bytes, out);
    }));
    require(run(all, exact.get()) == whole, "a workspace of the size that was asked for suffices and changes no bit");
  }

  void run_each_alone(const std::vector<uint8_t>& whole) {
    for (int64_t b = 0; b < batch_ && batch_ > 1; ++b) {
      const std::optional<std::vector<uint8_t>> alone = run(inputs(b, 1));
      require(alone.has_value(), "an element of a batch can be computed alone");
      const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(alone->size()) * b;
      require(std::equal(alone->begin(), alone->end(), begin), "an element alone has the bits that it has in a batch");
    }
  }

  void run_tapped(const heed_layer_inputs& all, const std::vector<uint8_t>& whole) const {
    std::string attention;
    if (choice_.is_stack()) attention = "layers.0.";
    if (choice_.is_transformer()) attention = "decoder.layers.0.";
    if (choice_.kind < BlockKind::EncoderLayer) return;
    attention += choice_.is_transformer() ? "cross_attention" : "self_attention";
    heed_layer_tap tap = HEED_LAYER_TAP_INIT;
    require(succeeded(heed_layer_create_tap(layer_, &all, attention.c_str(), HEED_WANT_WEIGHTS | HEED_WANT_LOG_SUM_EXP,
                                            &tap)),
            "a call that runs can be tapped");
    const Tensor weights(tap.weights);
    const Tensor log_sum_exp(tap.log_sum_exp);
    const std::optional<std::vector<uint8_t>> tapped = run(all, nullptr, &tap);
    // Weights may keep a strict context from the fastest path.
    require(!tapped || *tapped == whole, "a tap changes no bit of the output");
  }

  void save_and_load(const heed_layer_inputs& all, const std::vector<uint8_t>& whole) const {
    for (int64_t i = 0; i < heed_layer_child_count(layer_); ++i) {
      const char* const name = heed_layer_child_name(layer_, i);
      require(name != nullptr, "every child has a name");
      const Layer child(made_by(&capi_test::OutParameters::layer,
                                [&](heed_layer** out) { return heed_layer_child(layer_, name, out); }));
      require(child != nullptr && heed_layer_is_initialized(child.get()) == 1,
              "a child has the parameters of the whole");
      size_t size_of_options = 0;
      require(heed_layer_kind(child.get()) != nullptr &&
                  succeeded(heed_layer_options(child.get(), nullptr, 0, &size_of_options)) && size_of_options > 2,
              "every child has a kind and options");
    }
    size_t num_bytes = 0;
    require(succeeded(heed_layer_save_memory(layer_, nullptr, 0, &num_bytes)), "a layer can be saved");
    std::vector<uint8_t> file(num_bytes);
    require(succeeded(heed_layer_save_memory(layer_, file.data(), file.size(), nullptr)), "there is room");
    const Layer other = choice_.make(context_);
    require(other != nullptr, "options that were accepted are accepted again");
    if (!succeeded(heed_layer_load_memory(other.get(), file.data(), file.size(), nullptr))) {
      require(false, "what was saved can be loaded");
    }
    require(BlockCall(*this, other.get()).run(all) == whole, "a loaded layer gives the same bits");
  }

  // The same call of another layer.
  BlockCall(const BlockCall& call, heed_layer* layer)
      : context_(call.context_), layer_(layer), choice_(call.choice_), wrong_id_(call.wrong_id_) {}

  Cache make_cache(int64_t capacity) const {
    heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
    if (!succeeded(heed_layer_cache_options(layer_, &options))) return nullptr;
    options.max_sequences = batch_;
    options.capacity = std::max<int64_t>(1, capacity);
    heed_cache* made = nullptr;
    return succeeded(heed_cache_create(context_, &options, &made)) ? Cache(made) : nullptr;
  }

  // All rows in one call, and row by row: the last row has the same bits.
  void append(heed_layer_inputs all) {
    const Cache at_once = make_cache(num_rows_);
    const Cache one_by_one = make_cache(num_rows_);
    if (at_once == nullptr || one_by_one == nullptr || num_rows_ == 0) return;
    heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
    cached.cache = at_once.get();
    all.cache = &cached;
    const heed_tensor* const queries = all.queries;
    const heed_tensor* const token_types = all.token_types;
    const std::optional<std::vector<uint8_t>> whole = run_cached(all);
    if (!whole) return;
    require(heed_cache_length(at_once.get(), 0) == num_rows_, "a cache has the rows of the call");
    cached.cache = one_by_one.get();
    std::optional<std::vector<uint8_t>> last;
    for (int64_t row = 0; row < num_rows_; ++row) {
      all.queries = keep(capi_test::make_slice(const_cast<heed_tensor*>(queries), 1, row, 1));
      if (token_types != nullptr)
        all.token_types = keep(capi_test::make_slice(const_cast<heed_tensor*>(token_types), 1, row, 1));
      last = run_cached(all);
      if (!last) return;
    }
    if (!choice_.is_causal()) return;
    const size_t num_row_bytes = whole->size() / static_cast<size_t>(batch_ * num_rows_);
    for (int64_t b = 0; b < batch_; ++b) {
      const auto of_whole = whole->begin() + static_cast<std::ptrdiff_t>(num_row_bytes) * ((b + 1) * num_rows_ - 1);
      const auto of_last = last->begin() + static_cast<std::ptrdiff_t>(num_row_bytes) * b;
      require(std::equal(of_whole, of_whole + static_cast<std::ptrdiff_t>(num_row_bytes), of_last),
              "a row has the same bits alone and behind others");
    }
  }

  // Nothing if the layer's options have no meaning with a cache, such as shared layers.
  std::optional<std::vector<uint8_t>> run_cached(const heed_layer_inputs& given) const {
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    if (!succeeded(heed_layer_create_outputs(layer_, &given, HEED_WANT_OUTPUT, &outputs))) return std::nullopt;
    const Tensor output(outputs.output);
    if (!succeeded(heed_layer_forward(layer_, &given, nullptr, &outputs))) return std::nullopt;
    return capi_test::read_bytes(output.get());
  }

  // The encoder alone, the decoder with its output, and with a cache of that output's keys and values.
  void run_parts(const heed_layer_inputs& all) {
    heed_layer_inputs source_only = all;
    source_only.queries = nullptr;
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    require(succeeded(heed_layer_create_outputs(layer_, &source_only, HEED_WANT_OUTPUT, &outputs)),
            "the encoder of a Transformer that runs can be run alone");
    const Tensor memory(outputs.output);
    if (!succeeded(heed_layer_forward(layer_, &source_only, nullptr, &outputs))) return;
    heed_decoder_inputs decoder_inputs = HEED_DECODER_INPUTS_INIT;
    decoder_inputs.memory = memory.get();
    heed_layer_inputs rest = all;
    rest.keys = nullptr;
    rest.decoder = &decoder_inputs;
    require(run(rest).has_value(), "the decoder of a Transformer that runs can be run alone");

    const Cache cache = make_cache(num_keys_);
    if (cache == nullptr) return;
    heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
    cached.cache = cache.get();
    source_only.cache = &cached;
    if (!succeeded(heed_layer_fill_cache(layer_, &source_only, nullptr))) return;
    require(heed_cache_length(cache.get(), 0) == (has_lens_ ? lens_.front() : num_keys_), "padding is not stored");
    cached.use = HEED_CACHE_READ;
    decoder_inputs = HEED_DECODER_INPUTS_INIT;
    decoder_inputs.memory_cache = &cached;
    rest.valid_lens = nullptr;
    run_cached(rest);
  }

  heed_context* context_;
  heed_layer* layer_;
  const BlockChoice& choice_;
  int64_t batch_ = 0;
  int64_t num_rows_ = 0;
  int64_t num_keys_ = 0;
  heed_dtype dtype_ = HEED_F32;
  heed_dtype id_dtype_ = HEED_I32;
  uint8_t seed_ = 0;
  bool has_lens_ = false;
  bool has_token_types_ = false;
  std::vector<int32_t> lens_;
  std::optional<int32_t> wrong_id_;
  std::deque<Tensor> tensors_;
};

}  // namespace

void Machine::call_block() {
  heed_context* context = handle_of(contexts_.pick(bytes_));
  const BlockChoice choice(bytes_);
  const Layer layer = choice.make(context);
  if (layer == nullptr) {
    require(context == nullptr || choice.is_spoiled || choice.encoder.num_layers < 1 || choice.encoder.num_layers > 3,
            "options that fit are not refused: " + choice.refusal);
    return;
  }
  // Layers that no memory could hold are only described.
  if (choice.is_spoiled && (choice.feed_forward.hidden_size > kMaxElements || choice.output.size > kMaxElements ||
                            choice.embedding.embedding_size > kMaxElements))
    return;
  BlockCall call(context, layer.get(), choice, bytes_);
  if (!call.initialize(bytes_.next())) {
    require(call.may_be_refused(), "a layer of options that fit can be initialized");
    return;
  }
  call.run_all(bytes_);
}

}  // namespace heed::fuzz
