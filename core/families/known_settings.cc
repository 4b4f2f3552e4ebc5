// SPDX-License-Identifier: Apache-2.0
#include "families/known_settings.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/shown_text.h"
#include "families/families.h"
#include "families/model_settings.h"

namespace heed {
namespace {

// Settings that heed does not read: they do not change what a model computes without training. Each name is between two
// commas: a table of them would need a relocation for each.
constexpr std::string_view kWithoutEffect =
    ","
    "_attn_implementation,_attn_implementation_autoset,_commit_hash,_flash_attn_2_enabled,_name_or_path,_num_labels,"
    "activation_dropout,add_bias_logits,add_final_layer_norm,alignment_heads,apply_spec_augment,attention_dropout,"
    "attention_probs_dropout_prob,attn_implementation,attn_pdrop,bad_words_ids,begin_suppress_tokens,bos_token_id,"
    "cache_implementation,chunk_size_feed_forward,classif_dropout,classifier_activation,classifier_bias,"
    "classifier_dropout,classifier_dropout_prob,classifier_pooling,classifier_proj_size,cls_token_id,d_ff,d_model,"
    "decoder_bias,decoder_ffn_dim,decoder_layerdrop,decoder_start_token_id,decoder_vocab_size,"
    "deterministic_flash_attn,dim,directionality,diversity_penalty,do_sample,down_scale_factor,dropout,dropout_rate,"
    "dtype,early_stopping,embd_pdrop,embedding_dropout,embedding_size,encoder_ffn_dim,encoder_layerdrop,"
    "encoder_no_repeat_ngram_size,encoder_stride,eos_token_id,eos_token_ids,extra_pos_embeddings,ffn_dim,"
    "finetuning_task,force_bos_token_to_be_generated,forced_bos_token_id,forced_decoder_ids,forced_eos_token_id,"
    "full_attn_mod,gap_size,generator_size,gradient_checkpointing,hidden_dim,hidden_dropout,hidden_dropout_prob,"
    "hidden_size,id2label,init_std,initializer_cutoff_factor,initializer_factor,initializer_range,intermediate_size,"
    "interpolate_factor,is_composition,is_encoder_decoder,is_llama_config,label2id,language,layerdrop,length_penalty,"
    "mask_feature_length,mask_feature_min_masks,mask_feature_prob,mask_time_length,mask_time_min_masks,"
    "mask_time_prob,mask_token_id,matryoshka_dimensions,max_length,max_sequence_length,median_filter_width,"
    "min_length,mlp_dropout,model_max_length,n_ctx,n_embd,n_inner,name,neftune_noise_alpha,net_structure_type,"
    "no_repeat_ngram_size,normalize_before,normalize_embedding,num_beam_groups,num_beams,num_channels,num_labels,"
    "num_mel_bins,num_memory_blocks,num_return_sequences,onnx,output_attentions,output_hidden_states,output_past,"
    "output_scores,patch_size,pooler_act,pooler_fc_size,pooler_num_attention_heads,pooler_num_fc_layers,"
    "pooler_output_size,pooler_size_per_head,pooler_type,prefix,pretraining_tp,problem_type,projection_dim,"
    "pruned_heads,qa_dropout,reference_compile,reorder_and_upcast_attn,repad_logits_with_grad,repetition_penalty,"
    "replacing_rate,resid_pdrop,return_dict,return_dict_in_generate,save_step,sbert_ce_default_activation_function,"
    "sentence_transformers,sep_token_id,seq_classif_dropout,sinusoidal_pos_embds,sliding_window_size,"
    "sparse_pred_ignore_index,sparse_prediction,static_position_embeddings,summary_activation,summary_first_dropout,"
    "summary_last_dropout,summary_proj_to_labels,summary_type,summary_use_proj,suppress_tokens,task_specific_params,"
    "temperature,tie_weights_,tokenizer_class,top_k,top_p,torch_dtype,torchscript,transformers.js_config,"
    "transformers_version,type_vocab_size,typical_p,unk_token_id,unsloth_fixed,unsloth_version,use_bfloat16,"
    "use_cache,use_return_dict,use_weighted_layer_sum,vocab_size,word_embed_proj_dim,xla_device,";

bool is_without_effect(const std::string& name) {
  return name.find(',') == std::string::npos && kWithoutEffect.find("," + name + ",") != std::string_view::npos;
}

// Whether all layers have one kind of attention, which is that of the family's class: with its window, if it has one.
bool lists_one_kind(const ModelConfig& config, const Family& family) {
  const bool has_window = ModelSettings(config, "").count({family.windows.size.name}).has_value();
  const std::string list = name_of(Setting::LayerTypes);
  return std::ranges::all_of(config.members(list), [&](const std::string& index) {
    return config.text(list + "." + index) == (has_window ? "sliding_attention" : "full_attention");
  });
}

bool is_of_another_family(const ModelConfig& config, Setting setting, const Family& family) {
  if (users_of(setting) != Users::Readers || has_setting(family, setting)) return false;
  // It may say that the whole head is rotated.
  if (setting == Setting::PartialRotaryFactor) return config.number(name_of(setting)).value_or(1) != 1;
  return setting != Setting::LayerTypes || !lists_one_kind(config, family);
}

// Such a file's weights are packed integers and scales, in tensors of other names.
void refuse_quantized(const ModelConfig& config, std::span<const std::string> names, const LoadAccept& accept) {
  constexpr std::string_view kQuantized[] = {"compression_config", "quantization", "quantization_config"};
  for (const std::string_view name : kQuantized) {
    if (std::ranges::find(names, name) == names.end() || accept.has(name)) continue;
    fail(Status::Unsupported,
         "%s has \"%s\": the weights are quantized, and heed reads none such, expected weights in F32, F16, BF16 or "
         "F64%s",
         in_quotes(config.path()).c_str(), std::string(name).c_str(), accept.offer(name).c_str());
  }
}

// Every known setting is written as it is read. Null and false say nothing of a setting that the family does not have.
void require_jsons(const ModelConfig& config, const Family& family) {
  for (size_t i = 1; i < kNumSettings; ++i) {
    const auto setting = static_cast<Setting>(i);
    // What is wrong with the size of images is said of the patches.
    if (users_of(setting) == Users::NoWholeModels || setting == Setting::ImageSize) continue;
    const std::string name = name_of(setting);
    Json json = json_of(setting);
    // A text of letters is one of other families' patterns.
    if (json == Json::Pattern) json = Json::Count;
    // A model without such tokens may have -1.
    if (json == Json::Index && !has_setting(family, setting)) json = Json::Integer;
    const bool is_off = config.is_null(name) || config.flag(name) == false;
    if (is_off ? has_setting(family, setting) : config.has(name))
      require_json(config, name, json, may_be_null(setting));
  }
}

// The kinds of layers: one word for each.
void require_layer_types(const ModelConfig& config, const Family& family) {
  const std::string list = name_of(Setting::LayerTypes);
  if (!config.has(list)) return;
  const std::vector<std::string> indices = config.members(list);
  for (const std::string& index : indices) {
    const std::string path = path_of_member(list, index);
    const std::string_view kind = config.text(path).value_or("");
    if (kind == "full_attention" || kind == "sliding_attention") continue;
    fail(Status::Unsupported,
         "%s has %s as \"%s\", a kind of layer that heed does not know: expected "
         "\"full_attention\" or \"sliding_attention\"",
         in_quotes(config.path()).c_str(), config.text_of_value(path).c_str(), path.c_str());
  }
  const std::optional<int64_t> layers = ModelSettings(config, "").count({family.sizes.layers});
  if (!layers || static_cast<int64_t>(indices.size()) == *layers) return;
  fail(Status::InvalidArgument, "%s has %zu kinds of layers in \"%s\", expected one for each of the %" PRId64 " layers",
       in_quotes(config.path()).c_str(), indices.size(), list.c_str(), *layers);
}

// Positions that the classes of the family do not have. Relative ones are refused where attention is read.
void require_positions(const ModelConfig& config, const Family& family) {
  const std::string name = name_of(Setting::PositionEmbeddingType);
  const std::string_view word = config.text(name).value_or("absolute");
  if (word == "absolute" || word.starts_with("relative_key")) return;
  if (is_rotary(family.positions) && (word == "rotary" || word == "rope")) return;
  fail(Status::Unsupported,
       "%s has %s as \"%s\", positions that models of model_type \"%s\" do not have: expected \"absolute\"",
       in_quotes(config.path()).c_str(), in_quotes(word).c_str(), name.c_str(),
       std::string(family.model_types).c_str());
}

// The classes have two names of the setting, and transformers reads `name` then.
void require_one_value(const ModelConfig& config, Setting name, Setting of_family) {
  const std::optional<double> one = config.number(name_of(name));
  const std::optional<double> other = config.number(name_of(of_family));
  if (one && other && *one != *other) refuse_two_names(config, name_of(of_family), name_of(name));
}

}  // namespace

void refuse_two_names(const ModelConfig& config, const std::string& name, const std::string& other) {
  fail(Status::InvalidArgument,
       "%s has %s and %s, two names of one setting, with different values: expected one of them",
       in_quotes(config.path()).c_str(), in_quotes(name).c_str(), in_quotes(other).c_str());
}

void refuse_of_another_family(const ModelConfig& config, const std::string& path, const Family& family) {
  fail(Status::Unsupported,
       "%s has \"%s\", a setting that models of model_type \"%s\" do not have and that changes the numbers of "
       "others: expected a configuration without it",
       in_quotes(config.path()).c_str(), shown(path).c_str(), std::string(family.model_types).c_str());
}

void keep_settings_of(ModelConfig& config, const Family& family) {
  config.keep([&](std::string_view name) {
    const Setting setting = setting_of(name);
    return users_of(setting) == Users::All || has_setting(family, setting);
  });
}

void require_known_settings(const ModelConfig& config, const Family& family, const LoadAccept& accept) {
  const std::vector<std::string> names = config.names_in_use();
  refuse_quantized(config, names, accept);
  for (const std::string& name : names) {
    const Setting setting = setting_of(name);
    if (is_of_another_family(config, setting, family)) refuse_of_another_family(config, name, family);
    if (users_of(setting) != Users::NoWholeModels || is_without_effect(name) || accept.has(name)) continue;
    fail(Status::Unsupported,
         "%s has \"%s\", a setting that heed does not know and that may change the model's numbers: expected a "
         "configuration without it%s",
         in_quotes(config.path()).c_str(), shown(name).c_str(), accept.offer(shown(name)).c_str());
  }
  require_jsons(config, family);
  require_one_value(config, Setting::NumAttentionHeads, family.sizes.heads);
  require_layer_types(config, family);
  require_positions(config, family);
  if (is_rotary(family.positions)) require_rope_members(config, family, accept);
}

}  // namespace heed
