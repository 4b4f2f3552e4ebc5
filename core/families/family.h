// SPDX-License-Identifier: Apache-2.0
// What is known of a family of models: one record, which says what its classes in Hugging Face transformers compute and
// which settings they read. To support another family, add a record (encoder_families.h and its neighbours). The rules
// that read records are in rules.h, model_rope.h, model_block.h and known_settings.h; none of them names a family.
#pragma once

#include <cstdint>
#include <string_view>

#include "attention/options.h"
#include "families/setting.h"
#include "families/unsupported.h"
#include "ops/activation.h"
#include "ops/head_transform.h"
#include "ops/norm.h"

namespace heed {

// A number of the model that a setting says.
struct From {
  Setting name = Setting::None;
  Setting older = Setting::None;  // the name in earlier files
  // What the classes take if the file leaves it out. The configuration of a model within another one has only the settings
  // that differ from these.
  float otherwise = 0;
};

// Whether the classes have a part. What they have is required of a file.
struct Has {
  enum class When : uint8_t {
    Never,
    Always,
    IfSet,
    UnlessUnset,
    InFile,  // The class reads it if the file has it: published files of the family lack it.
  };
  When when = When::Never;
  Setting by = Setting::None;
};
inline constexpr Has kAlways = {.when = Has::When::Always};
inline constexpr Has kInFile = {.when = Has::When::InFile};
// `otherwise`: without the setting.
constexpr Has has_by(Setting by, bool otherwise = false) {
  return {otherwise ? Has::When::UnlessUnset : Has::When::IfSet, by};
}

// The settings of the sizes that every configuration of the family says.
struct SizeSettings {
  Setting layers = Setting::None;
  Setting heads = Setting::None;
  // Of a Transformer, whose encoder has those above.
  Setting decoder_layers = Setting::None;
  Setting decoder_heads = Setting::None;
  // These have defaults: one for each head, and the hidden size divided by the heads.
  Setting kv_heads = Setting::None;
  Setting head_size = Setting::None;
  Setting other_layers = Setting::None;  // of a decoder that has as many as the encoder otherwise
};

// ---- what layers compute beside attention -----------------------------------------------------------------------------

struct Epsilon {
  Setting name = Setting::None;  // None: always the default
  double otherwise = 0;
};

enum class NormPlace : uint8_t {
  Behind,            // the residual's sum
  Before,            // the part
  BeforeUnlessUnset  // the same unless `place_by` is false
};

struct Norms {
  Epsilon epsilon = {};
  NormKind kind = NormKind::None;  // None: not known
  NormPlace place = NormPlace::Behind;
  Setting place_by = Setting::None;
  Has biases = {};
  Setting weights_by = Setting::None;      // Unless it is false, norms have weights. heed has no norms without.
  Setting none_at_end_by = Setting::None;  // If it is true, the stack has none behind its last layer.
  bool adds_one = false;                   // They multiply by 1 + weight.
  bool also_behind_parts = false;          // before the residual's sum
  bool none_before_first = false;          // The first layer has none before its attention.
};

struct FeedForwardRules {
  Setting activation = Setting::None;
  Setting older_activation = Setting::None;  // read if the file does not have the other
  Has gate = {};
  Has biases = {};
  // T5's older setting is a text with more, as "gated-gelu", which says before `gate` does whether there is one.
  bool older_says_gate = false;
  bool has_experts = false;  // heed has none.
  Activation usual = Activation::None;
};

// ---- attention --------------------------------------------------------------------------------------------------------

// When self-attention is causal. Cross attention is never causal.
enum class CausalRule : uint8_t {
  Never,
  Always,
  InDecoder,  // if the prefix has a module "decoder"
  InText,     // if the prefix has a module "text_model"
  IfDecoder,  // if the configuration sets is_decoder, or XLM's `causal`
  IfSaid,     // the same; otherwise it is not known
};

enum class ScaleRule : uint8_t {
  Root,  // 1 / sqrt(head size), unless the configuration has another setting
  One,
  Factor,  // a setting
  Scalar,  // 1 / sqrt of a setting
  Gpt2,    // depends on scale_attn_weights and scale_attn_by_inverse_layer_idx
  IfSaid,  // only the configuration says it
};

// The norm of queries and keys.
enum class QkNormRule : uint8_t {
  Unknown,     // Whole models have none.
  Rms,         // one weight for all heads
  RmsPlusOne,  // the same, and the norm multiplies by 1 + weight
  LayerIfSet,  // a layer norm with a weight for each head, if use_qk_norm is set
};

enum class KeyHeads : uint8_t {
  Usual,
  Falcons,  // one, all, or as many as a setting says
};

struct AttentionRules {
  From scale_by = {};
  From soft_cap = {};
  Setting both_ways = Setting::None;  // makes a causal model see both sides
  Has qkv_biases = {};
  Has output_bias = {};
  bool no_key_bias = false;
  CausalRule causal = CausalRule::Never;
  ScaleRule scale = ScaleRule::Root;
  QkNormRule qk_norm = QkNormRule::Unknown;
  KeyHeads key_heads = KeyHeads::Usual;
  bool sinks = false;
  bool tower_has_windows = false;  // Most layers of the vision tower attend within windows of patches.
};

// How self-attention knows positions.
enum class PositionRule : uint8_t {
  Other,      // only the configuration says it, or they are added to the embeddings
  Table,      // added to the embeddings, learned
  Sinusoids,  // the same, of HEED_POSITIONS_SINUSOIDAL_HALVES_2I, which the file need not have
  Rotary,
  Buckets,     // T5's bias
  Alibi,       // added to the scaled scores
  AlibiIfSet,  // scaled ALiBi if `alibi` is set, rotary positions otherwise
};

// The row of position 0 in a table of positions.
enum class FirstRow : uint8_t {
  Unknown,
  Zero,
  Two,
  AfterPadding,  // the row after that of the padding token
};

struct Positions {
  From base = {Setting::None, Setting::None, 10000};
  // The base of layers with a window, which then have no scaling; 0: they have the base and the scaling of the others.
  From window_base = {};
  From part = {Setting::None, Setting::None, 1};  // of each head that is rotated
  From buckets = {};
  From distance = {};
  RotaryLayout layout = RotaryLayout::None;  // None: not known
  PositionRule kind = PositionRule::Other;
  FirstRow first_row = FirstRow::Unknown;
  bool only_with_window = false;  // In a model with windows the other layers have no rotary positions.
  bool yarn_is_longrope = false;  // in the first files
};

// Which layers have a window, if layer_types does not list it.
enum class WindowPattern : uint8_t {
  All,               // or the configuration says it
  LastIsFull,        // The last of `every` layers has none.
  FirstIsFull,       // The first of `every` layers has none.
  FromLayer,         // All from layer `every` on.
  EveryOtherBefore,  // Of the layers before `every` each second one.
  Listed,            // attention_layers lists the kind of each layer, or attention_types the kinds that repeat.
};

enum class WindowUse : uint8_t {
  UnlessUnset,  // use_sliding_window is true by default.
  IfSet,        // It is false by default.
  Always,       // The class has no such setting.
};

// The configured size counts the query's own token. Some models have half of it on each side.
enum class HalfWindow : uint8_t { Never, Always, BothWays };

struct Windows {
  From size = {};  // None: sliding_window, without a default
  From every = {};
  Setting list = Setting::None;
  WindowPattern pattern = WindowPattern::All;
  WindowUse use = WindowUse::UnlessUnset;
  HalfWindow half = HalfWindow::Never;
  bool ignores_max_window_layers = false;
};

// ---- whole models -----------------------------------------------------------------------------------------------------

enum class ModelKind : uint8_t {
  None,  // heed makes no whole models of the family.
  Encoder,
  Decoder,
  Transformer,
};

// What the model, or its encoder, reads.
enum class ModelInput : uint8_t { Ids, Images, Audio };

// What rows of the embedding are multiplied by.
enum class EmbeddingScale : uint8_t {
  One,
  Root,       // the square root of the hidden size
  RootIfSet,  // the same if `factor_by` is set
  BySetting,  // `factor_by`
};

// Whether rows of the embedding may have another size than those of the layers, and are projected then.
enum class EmbeddingProjection : uint8_t {
  No,
  Yes,
  WithoutBias,  // Positions are added behind it.
};

struct EmbeddingRules {
  From factor_by = {};
  // Both sides of a Transformer read one table, unless this setting is false: then each has its own.
  Setting shared_by = Setting::None;
  EmbeddingScale factor = EmbeddingScale::One;
  EmbeddingProjection projection = EmbeddingProjection::No;
  ModelInput input = ModelInput::Ids;
  bool token_types = false;
  bool norm = false;
};

struct Head {
  From soft_cap = {};
  Setting divisor = Setting::None;  // of logits
  // It multiplies by 1 / sqrt(hidden size): if this setting says it or, without it, if the head is tied.
  Setting scaled_by = Setting::None;
  Setting tied_by = Setting::None;
  bool is_tied = true;  // if the file does not say it
  Has bias = {};        // of a head that is the embedding
};

// The names of layouts (layout_names.h), and the module of the model in the file of one with a head.
struct Layouts {
  const char* model = nullptr;   // around its layers: in loading/block_layout.cc
  const char* layers = nullptr;  // the same
  const char* base = nullptr;    // "": the whole file
  // Of a Transformer: the layout of its encoder alone, which has the embedding. Null: there are no such models.
  const char* encoder = nullptr;
};

struct Family {
  // Of a family of whole models its own; otherwise all of which the record is true, with a space between two.
  std::string_view model_types = {};
  // What every attention of the family computes that heed has no option for; null: only the configuration says it.
  const UnsupportedFeature* unsupported = nullptr;
  // The path of the module that packs queries, keys and values as the layout with its name says; null: none does.
  const char* packed_in = nullptr;
  Layouts layouts = {};
  Norms norms = {};
  AttentionRules attention = {};
  Positions positions = {};
  Windows windows = {};
  EmbeddingRules embedding = {};
  Head head = {};
  FeedForwardRules feed_forward = {};
  SizeSettings sizes = {};
  Setting residual_factor = Setting::None;  // of each part before the residual's sum
  Setting spare = Setting::None;            // in published files, and nobody reads it
  ModelKind kind = ModelKind::None;
  // False: that of model_types without a record.
  bool is_known = true;
  // Its linear modules are Conv1D, with weights (in, out).
  bool has_conv1d = false;
  bool shares_layers = false;  // All layers are one.
};

// Whether what its layers compute beside attention is known.
constexpr bool knows_blocks(const Family& family) { return family.feed_forward.usual != Activation::None; }
// Whether the family has rotary positions; some have ALiBi in their place, if the configuration says so.
constexpr bool is_rotary(const Positions& positions) {
  return positions.kind == PositionRule::Rotary || positions.kind == PositionRule::AlibiIfSet;
}

}  // namespace heed
