// SPDX-License-Identifier: Apache-2.0
// Norms, feed-forward networks, embeddings, encoder and decoder layers, stacks of them and Transformers: each call makes a
// layer, runs it with a batch, and with each element alone, with a tap, after it was saved and loaded, or with caches. All give the
// same bits. So do the visible rows of a mask, whatever the hidden ones hold, and rows whose output alone is wanted; and so do
// gradients, whatever is saved. Wrong inputs must be refused.
#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capi/support/attention_call.h"
#include "fuzz/calls/checks.h"
#include "fuzz/calls/gradients.h"
#include "fuzz/calls/machine.h"
#include "fuzz/calls/row_mask.h"
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
// The flags of inputs with which a call has masks and wanted rows. No older program of the corpus has them.
constexpr uint8_t kFirstWithMasks = 236;
constexpr uint8_t kLastWithMasks = 245;

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
  // Whether a row of a decoder has the same bits in a call of its own, behind the others in a cache: it sees none behind it, and
  // what it sees of the memory does not depend on which row of the call it is.
  bool has_rows_of_their_own() const {
    return decoder_layer.self_attention->causal != HEED_CAUSAL_NONE &&
           (decoder_layer.cross_attention == nullptr || !has_places(*decoder_layer.cross_attention));
  }

  const BlockKind kind;
  heed_embedding_options embedding = capi_test::ten_rows();
  bool has_cross_attention = false;
  bool has_embedding = false;
  bool is_spoiled = false;

  mutable std::string refusal;  // of `make`

 private:
  static bool has_places(const heed_multi_head_attention_options& options) {
    return options.causal != HEED_CAUSAL_NONE || options.window != HEED_WINDOW_NONE || options.rope != nullptr ||
           options.alibi != HEED_ALIBI_NONE || options.relative_bias != HEED_RELATIVE_BIAS_NONE;
  }

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
    if (inputs < kFirstWithMasks || inputs > kLastWithMasks) return;
    choose_masks(bytes);
    choose_wanted_rows(bytes);
  }

  // The inputs of batch elements first to first + count - 1.
  heed_layer_inputs inputs(int64_t first, int64_t count) {
    heed_layer_inputs result = HEED_LAYER_INPUTS_INIT;
    result.queries = keep(choice_.is_transformer() ? rows(first, count, num_rows_, 1, rows_mask())
                                                   : source(first, count, num_rows_, 1, rows_mask()));
    if (choice_.is_transformer()) result.keys = keep(source(first, count, num_keys_, 2, mask_of_keys()));
    if (choice_.is_decoder() && choice_.has_cross_attention)
      result.keys = keep(numbers({count, num_keys_, kRowSize}, first * num_keys_ * kRowSize, 2, mask_of_keys()));
    if (has_lens_) result.valid_lens = keep(lens(first, count));
    if (has_token_types_) result.token_types = keep(ids({count, num_rows_}, first * num_rows_, 3, 2, rows_mask()));
    give_masks(result, first, count);
    result.num_last_rows = num_last_rows_;
    if (has_output_rows_) result.output_rows = keep(output_rows(first, count));
    return result;
  }

  // Whether a call may be refused.
  bool may_be_refused() const {
    const bool is_too_long = has_lens_ && lens_.front() > num_keys();
    const bool has_wrong_id = wrong_id_ && choice_.reads_ids() && batch_ * (num_rows_ + num_keys_) > 0;
    return choice_.is_spoiled || is_too_long || has_wrong_id || must_be_refused();
  }

  // Whether a call of masks and wanted rows is one that heed.h refuses.
  bool must_be_refused() const { return has_wrong_masks() || wants_wrong_rows(); }

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
    require(!must_be_refused(), "wrong masks and wanted rows are refused");
    require_hidden_rows_are_not_read(*whole);
    require_wanted_rows(all, *whole);
    // Chosen by a byte of the call, so that older programs of the corpus keep their meaning.
    if (seed_ % 4 == 0) differentiate(all);
    // All of them would take too long for each call.
    switch (bytes.below(4)) {
      case 0: run_each_alone(*whole); break;
      case 1: run_tapped(all, *whole); break;
      case 2: save_and_load(all, *whole); break;
      default:
        if (choice_.is_decoder()) append(with_all_rows(all));
        if (choice_.is_transformer()) run_parts(all);
        break;
    }
  }

 private:
  // ---- masks ---------------------------------------------------------------------------------------------------------

  void choose_masks(Bytes& bytes) {
    const uint8_t choice = bytes.next();
    if (choice % 4 >= 2) own_mask_.emplace(batch_, num_rows_, bytes);
    own_mask_is_of_decoder_ = reads_keys() || (choice_.is_decoder() && choice / 4 % 2 == 1);
    if (reads_keys() && choice / 8 % 4 >= 2) keys_mask_.emplace(batch_, num_keys_, bytes);
    // Without cross attention both masks are of the same rows.
    has_both_masks_ = own_mask_ && choice_.is_decoder() && !reads_keys() && choice / 32 == 7;
  }

  // Whether attention_mask is that of keys.
  bool reads_keys() const { return choice_.is_transformer() || (choice_.is_decoder() && choice_.has_cross_attention); }
  // Of the rows of queries; null: all are visible.
  const RowMask* rows_mask() const { return own_mask_ && !own_mask_->is_wrong() ? &*own_mask_ : nullptr; }
  const RowMask* mask_of_keys() const { return keys_mask_ && !keys_mask_->is_wrong() ? &*keys_mask_ : nullptr; }

  void give_masks(heed_layer_inputs& inputs, int64_t first, int64_t count) {
    if (keys_mask_) inputs.attention_mask = keep(keys_mask_->tensor(context_, first, count));
    if (!own_mask_) return;
    const heed_tensor* const mask = keep(own_mask_->tensor(context_, first, count));
    if (!own_mask_is_of_decoder_ || has_both_masks_) inputs.attention_mask = mask;
    if (!own_mask_is_of_decoder_ && !has_both_masks_) return;
    heed_decoder_inputs& decoder = decoders_.emplace_back(heed_decoder_inputs HEED_DECODER_INPUTS_INIT);
    decoder.self_attention_mask = mask;
    inputs.decoder = &decoder;
  }

  bool has_wrong_masks() const {
    if (!own_mask_ && !keys_mask_) return false;
    const bool has_no_rows =
        choice_.kind < BlockKind::EncoderLayer || choice_.kind == BlockKind::Images || choice_.kind == BlockKind::Audio;
    const bool has_lens_of_same_rows = has_lens_ && (reads_keys() ? keys_mask_.has_value() : own_mask_.has_value());
    return has_no_rows || has_lens_of_same_rows || has_both_masks_ || (own_mask_ && own_mask_->is_wrong()) ||
           (keys_mask_ && keys_mask_->is_wrong());
  }

  int64_t num_visible_keys(int64_t b) const {
    if (has_lens_) return lens_[static_cast<size_t>(b)];
    return keys_mask_ ? static_cast<int64_t>(keys_mask_->visible(b).size()) : num_keys_;
  }

  // The rows of a batch element that the call computes; the output of the others is 0.
  std::vector<int64_t> visible_rows(int64_t b) const {
    if (own_mask_) return own_mask_->visible(b);
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < num_output_rows(); ++row) rows.push_back(row);
    return rows;
  }

  // Those of the output of all rows.
  int64_t num_output_rows() const { return choice_.kind == BlockKind::Images ? num_patches(num_rows_) + 1 : num_rows_; }

  // Hidden rows have other contents, which no id and no number may have, and an output of 0.
  void require_hidden_rows_are_not_read(const std::vector<uint8_t>& whole) {
    if (!own_mask_ && !keys_mask_) return;
    spoils_hidden_rows_ = true;
    const std::optional<std::vector<uint8_t>> other = run(inputs(0, batch_));
    spoils_hidden_rows_ = false;
    require(other == whole, "hidden rows are not read");
    if (!own_mask_ || wants_rows()) return;
    const size_t num_row_bytes = whole.size() / static_cast<size_t>(std::max<int64_t>(1, batch_ * num_rows_));
    for (int64_t b = 0; b < batch_; ++b) {
      for (int64_t row = 0; row < num_rows_; ++row) {
        if (own_mask_->shows(b, row)) continue;
        const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(num_row_bytes) * (b * num_rows_ + row);
        require(std::all_of(begin, begin + static_cast<std::ptrdiff_t>(num_row_bytes),
                            [](uint8_t byte) { return byte == 0; }),
                "the output of a hidden row is 0");
      }
    }
  }

  // ---- wanted rows ---------------------------------------------------------------------------------------------------

  void choose_wanted_rows(Bytes& bytes) {
    const uint8_t choice = bytes.next();
    if (choice % 4 == 1 || choice == 0xFF) num_last_rows_ = bytes.rarely() ? bytes.size() : 1 + bytes.below(3);
    if (choice % 4 < 2 || (choice % 4 == 3 && choice != 0xFF)) return;
    has_output_rows_ = true;
    num_wanted_rows_ = bytes.below(4);
    for (int64_t b = 0; b < batch_; ++b) {
      const std::vector<int64_t> rows = visible_rows(b);
      for (int64_t i = 0; i < num_wanted_rows_; ++i) {
        const uint8_t byte = bytes.next();
        // Any number where a batch element has no rows.
        const bool is_right = byte < 0xF0 && !rows.empty();
        output_rows_.push_back(is_right ? rows[byte % rows.size()] : byte - 0xF2);
      }
    }
    const uint8_t form = bytes.next();
    output_rows_dtype_ = form % 2 == 0 ? HEED_I32 : HEED_I64;
    if (form >= 0xFC) output_rows_dtype_ = HEED_F32;
    has_wrong_wanted_dims_ = form >= 0xF8 && form < 0xFC;
  }

  bool wants_rows() const { return num_last_rows_ != 0 || has_output_rows_; }

  Tensor output_rows(int64_t first, int64_t count) const {
    const auto begin = output_rows_.begin() + first * num_wanted_rows_;
    std::vector<int64_t> rows(begin, begin + count * num_wanted_rows_);
    Dims dims = {count, num_wanted_rows_};
    if (has_wrong_wanted_dims_) {
      ++dims.front();
      rows.resize(static_cast<size_t>((count + 1) * num_wanted_rows_));
    }
    const Tensor numbers = capi_test::make_tensor_of(context_, dims, rows);
    Tensor tensor = capi_test::make_tensor(context_, dims, output_rows_dtype_);
    require(succeeded(heed_tensor_copy(tensor.get(), numbers.get())), "numbers of rows can be converted");
    return tensor;
  }

  // What the output of a batch element has: numbers of rows, or none if the element has no rows.
  std::vector<int64_t> wanted_rows(int64_t b) const {
    const std::vector<int64_t> rows = visible_rows(b);
    if (rows.empty()) return {};
    if (num_last_rows_ > 0) return {rows.end() - num_last_rows_, rows.end()};
    const auto begin = output_rows_.begin() + b * num_wanted_rows_;
    return {begin, begin + num_wanted_rows_};
  }

  bool wants_wrong_rows() const {
    if (!wants_rows()) return false;
    if (!choice_.is_stack() || num_last_rows_ < 0 || (num_last_rows_ != 0 && has_output_rows_)) return true;
    if (has_output_rows_ && (has_wrong_wanted_dims_ || output_rows_dtype_ == HEED_F32)) return true;
    // A wrong mask is refused itself.
    if (own_mask_ && own_mask_->is_wrong()) return true;
    for (int64_t b = 0; b < batch_; ++b) {
      const std::vector<int64_t> rows = visible_rows(b);
      if (rows.empty()) continue;
      if (num_last_rows_ > static_cast<int64_t>(rows.size())) return true;
      for (int64_t i = 0; has_output_rows_ && i < num_wanted_rows_; ++i) {
        if (std::count(rows.begin(), rows.end(), output_rows_[static_cast<size_t>(b * num_wanted_rows_ + i)]) == 0)
          return true;
      }
    }
    return false;
  }

  static heed_layer_inputs with_all_rows(heed_layer_inputs inputs) {
    inputs.num_last_rows = 0;
    inputs.output_rows = nullptr;
    return inputs;
  }

  // Requires that the output has the wanted rows of the output of all rows. `num_rows`: of each batch element in the latter.
  static void require_rows_of(const std::vector<uint8_t>& is, const std::vector<uint8_t>& all,
                              const std::vector<std::vector<int64_t>>& rows, int64_t num_rows, int64_t num_wanted) {
    const auto batch = static_cast<int64_t>(rows.size());
    if (num_rows == 0 || num_wanted == 0) return;
    const size_t num_row_bytes = all.size() / static_cast<size_t>(batch * num_rows);
    require(is.size() == num_row_bytes * static_cast<size_t>(batch * num_wanted), "an output has the wanted rows");
    for (int64_t b = 0; b < batch; ++b) {
      const std::vector<int64_t>& of_element = rows[static_cast<size_t>(b)];
      for (int64_t i = 0; i < num_wanted; ++i) {
        const auto begin = is.begin() + static_cast<std::ptrdiff_t>(num_row_bytes) * (b * num_wanted + i);
        const auto end = begin + static_cast<std::ptrdiff_t>(num_row_bytes);
        if (of_element.empty()) {
          require(std::all_of(begin, end, [](uint8_t byte) { return byte == 0; }),
                  "a batch element without rows has an output of 0");
          continue;
        }
        const int64_t row = of_element[static_cast<size_t>(i)];
        require(std::equal(begin, end, all.begin() + static_cast<std::ptrdiff_t>(num_row_bytes) * (b * num_rows + row)),
                "a wanted row has the bits that it has among all");
      }
    }
  }

  void require_wanted_rows(const heed_layer_inputs& given, const std::vector<uint8_t>& is) const {
    if (!wants_rows()) return;
    const std::optional<std::vector<uint8_t>> all = run(with_all_rows(given));
    require(all.has_value(), "a call that gives some rows gives all");
    std::vector<std::vector<int64_t>> rows;
    for (int64_t b = 0; b < batch_; ++b) rows.push_back(wanted_rows(b));
    require_rows_of(is, *all, rows, num_output_rows(), has_output_rows_ ? num_wanted_rows_ : num_last_rows_);
  }

  // ---- inputs --------------------------------------------------------------------------------------------------------

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
  Tensor numbers(const Dims& dims, int64_t first, int stream, const RowMask* mask = nullptr) const {
    Tensor tensor = capi_test::make_tensor(context_, dims, dtype_);
    const int64_t count = heed_tensor_num_elements(tensor.get());
    std::vector<float> values;
    for (int64_t i = first; i < first + count; ++i) {
      const auto value = static_cast<float>((i * (7 + 4 * stream) + seed_) % 23) / 8.0F - 1.5F;
      values.push_back(is_hidden(mask, i, dims) ? NAN : value);
    }
    const Tensor floats = capi_test::make_tensor_of(context_, dims, values);
    require(succeeded(heed_tensor_copy(tensor.get(), floats.get())), "numbers can be converted");
    return tensor;
  }

  Tensor ids(const Dims& dims, int64_t first, int stream, int64_t end, const RowMask* mask = nullptr) const {
    Tensor tensor = capi_test::make_tensor(context_, dims, HEED_I32);
    const int64_t count = heed_tensor_num_elements(tensor.get());
    std::vector<int32_t> values;
    for (int64_t i = first; i < first + count; ++i) {
      const auto value = static_cast<int32_t>((i * (3 + 2 * stream) + seed_) % end);
      values.push_back(is_hidden(mask, i, dims) ? -1 : value);
    }
    if (wrong_id_ && first == 0 && count > 0 && end == kNumIds) values.front() = *wrong_id_;
    require(succeeded(heed_tensor_write(tensor.get(), values.data(), values.size() * sizeof(int32_t))),
            "ids are written");
    if (id_dtype_ == HEED_I32) return tensor;
    Tensor wide = capi_test::make_tensor(context_, dims, HEED_I64);
    require(succeeded(heed_tensor_copy(wide.get(), tensor.get())), "ids can be converted");
    return wide;
  }

  // Rows, or their ids.
  Tensor rows(int64_t first, int64_t count, int64_t num_rows, int stream, const RowMask* mask) const {
    if (choice_.reads_ids()) return ids({count, num_rows}, first * num_rows, stream, kNumIds, mask);
    return numbers({count, num_rows, kRowSize}, first * num_rows * kRowSize, stream, mask);
  }

  // The same, or what an encoder of images or audio reads.
  Tensor source(int64_t first, int64_t count, int64_t num_rows, int stream, const RowMask* mask) const {
    if (choice_.kind == BlockKind::Images) {
      const Dims dims = {count, kChannels, 2 * kPatchHeight, num_rows * kPatchWidth};
      return numbers(dims, first * dims[1] * dims[2] * dims[3], stream);
    }
    if (choice_.kind == BlockKind::Audio)
      return numbers({count, kMels, 2 * num_rows}, first * kMels * 2 * num_rows, stream);
    return rows(first, count, num_rows, stream, mask);
  }

  // Whether element i of the whole batch's tensor is in a hidden row, if those shall hold what no call may read.
  // `mask`: of the rows that the tensor has; null: none.
  bool is_hidden(const RowMask* mask, int64_t i, const Dims& dims) const {
    if (!spoils_hidden_rows_ || mask == nullptr) return false;
    const int64_t row = dims.size() == 3 ? i / dims[2] : i;
    return !mask->shows(row / dims[1], row % dims[1]);
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

  void differentiate(const heed_layer_inputs& all) {
    const std::optional<std::vector<uint8_t>> gradients = gradients_of(context_, layer_, all);
    if (!gradients || (!own_mask_ && !keys_mask_)) return;
    spoils_hidden_rows_ = true;
    const heed_layer_inputs spoiled = inputs(0, batch_);
    spoils_hidden_rows_ = false;
    require(gradients_of(context_, layer_, spoiled) == gradients, "hidden rows have no part in gradients");
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
    const heed_tensor* const attention_mask = all.attention_mask;
    const heed_decoder_inputs* const decoder = all.decoder;
    const std::optional<std::vector<uint8_t>> whole = run_cached(all);
    if (!whole) return;
    require(heed_cache_length(at_once.get(), 0) == static_cast<int64_t>(visible_rows(0).size()),
            "a cache has the visible rows of the call");
    append_wanted(all, at_once.get(), *whole);
    cached.cache = one_by_one.get();
    std::optional<std::vector<uint8_t>> last;
    for (int64_t row = 0; row < num_rows_; ++row) {
      all.queries = keep(capi_test::make_slice(const_cast<heed_tensor*>(queries), 1, row, 1));
      if (token_types != nullptr)
        all.token_types = keep(capi_test::make_slice(const_cast<heed_tensor*>(token_types), 1, row, 1));
      if (attention_mask != nullptr && !reads_keys())
        all.attention_mask = keep(capi_test::make_slice(const_cast<heed_tensor*>(attention_mask), 1, row, 1));
      heed_decoder_inputs of_row = HEED_DECODER_INPUTS_INIT;
      if (decoder != nullptr) {
        auto* const mask = const_cast<heed_tensor*>(decoder->self_attention_mask);
        of_row.self_attention_mask = keep(capi_test::make_slice(mask, 1, row, 1));
        all.decoder = &of_row;
      }
      last = run_cached(all);
      if (!last) return;
    }
    if (!choice_.has_rows_of_their_own()) return;
    const size_t num_row_bytes = whole->size() / static_cast<size_t>(batch_ * num_rows_);
    for (int64_t b = 0; b < batch_; ++b) {
      const auto of_whole = whole->begin() + static_cast<std::ptrdiff_t>(num_row_bytes) * ((b + 1) * num_rows_ - 1);
      const auto of_last = last->begin() + static_cast<std::ptrdiff_t>(num_row_bytes) * b;
      require(std::equal(of_whole, of_whole + static_cast<std::ptrdiff_t>(num_row_bytes), of_last),
              "a row has the same bits alone and behind others");
    }
  }

  // The same rows once more, of which some alone are wanted. `whole`: the output of all.
  void append_wanted(heed_layer_inputs all, heed_cache* cache, const std::vector<uint8_t>& whole) const {
    if (!choice_.is_stack()) return;
    all.num_last_rows = 1;
    std::vector<std::vector<int64_t>> rows;
    for (int64_t b = 0; b < batch_; ++b) {
      require(succeeded(heed_cache_rewind(cache, b, 0)), "a sequence can be emptied");
      rows.push_back(visible_rows(b));
      if (rows.back().size() > 1) rows.back() = {rows.back().back()};
    }
    const std::optional<std::vector<uint8_t>> last = run_cached(all);
    require(last.has_value(), "a call that gives all rows gives the last ones");
    require_rows_of(*last, whole, rows, num_rows_, 1);
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
    heed_layer_inputs source_only = with_all_rows(all);
    source_only.queries = nullptr;
    source_only.decoder = nullptr;
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    require(succeeded(heed_layer_create_outputs(layer_, &source_only, HEED_WANT_OUTPUT, &outputs)),
            "the encoder of a Transformer that runs can be run alone");
    const Tensor memory(outputs.output);
    if (!succeeded(heed_layer_forward(layer_, &source_only, nullptr, &outputs))) return;
    require_last_row_of_memory(source_only, memory.get());
    heed_decoder_inputs decoder_inputs = HEED_DECODER_INPUTS_INIT;
    if (all.decoder != nullptr) decoder_inputs = *all.decoder;
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
    require(heed_cache_length(cache.get(), 0) == num_visible_keys(0), "padding is not stored");
    cached.use = HEED_CACHE_READ;
    decoder_inputs.memory = nullptr;
    decoder_inputs.memory_cache = &cached;
    rest.valid_lens = nullptr;
    rest.attention_mask = nullptr;
    run_cached(rest);
  }

  void require_last_row_of_memory(heed_layer_inputs source_only, const heed_tensor* memory) {
    source_only.num_last_rows = 1;
    const std::optional<std::vector<uint8_t>> last = run(source_only);
    require(last.has_value(), "an encoder that gives all rows gives the last ones");
    std::vector<std::vector<int64_t>> rows;
    for (int64_t b = 0; b < batch_; ++b) {
      rows.emplace_back();
      const int64_t count = keys_mask_ ? static_cast<int64_t>(keys_mask_->visible(b).size()) : num_keys_;
      if (count > 0) rows.back().push_back(keys_mask_ ? keys_mask_->visible(b).back() : num_keys_ - 1);
    }
    require_rows_of(*last, capi_test::read_bytes(memory), rows, num_keys_, 1);
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
  std::optional<RowMask> own_mask_;   // of the rows of queries
  std::optional<RowMask> keys_mask_;  // of a decoder's memory, or what a Transformer's encoder reads
  bool own_mask_is_of_decoder_ = false;
  bool has_both_masks_ = false;
  bool spoils_hidden_rows_ = false;
  int64_t num_last_rows_ = 0;
  bool has_output_rows_ = false;
  int64_t num_wanted_rows_ = 0;
  std::vector<int64_t> output_rows_;  // [batch][num_wanted_rows]
  heed_dtype output_rows_dtype_ = HEED_I64;
  bool has_wrong_wanted_dims_ = false;
  std::deque<Tensor> tensors_;
  std::deque<heed_decoder_inputs> decoders_;
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
