// SPDX-License-Identifier: Apache-2.0
#include "families/known_settings.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/shown_text.h"

namespace heed {
namespace {

// Each name between two commas: a table of them would need a relocation for each.
constexpr std::string_view kKnown =
    ","
    "_attn_implementation,_attn_implementation_autoset,_commit_hash,_name_or_path,_num_labels,"
    "_remove_final_layer_norm,_sliding_window_pattern,activation,activation_dropout,activation_function,"
    "add_bias_logits,add_final_layer_norm,apply_spec_augment,architectures,attention_bias,attention_dropout,"
    "attention_multiplier,attention_probs_dropout_prob,attn_logit_softcapping,attn_pdrop,auto_map,bad_words_ids,"
    "begin_suppress_tokens,bos_token_id,cache_implementation,chunk_size_feed_forward,classif_dropout,"
    "classifier_activation,classifier_bias,classifier_dropout,classifier_dropout_prob,classifier_pooling,"
    "classifier_proj_size,cls_token_id,d_ff,d_kv,d_model,decoder_attention_heads,decoder_bias,decoder_ffn_dim,"
    "decoder_layerdrop,decoder_layers,decoder_start_token_id,decoder_vocab_size,dense_act_fn,"
    "deterministic_flash_attn,dim,directionality,diversity_penalty,do_layer_norm_before,do_sample,"
    "down_scale_factor,dropout,dropout_rate,dtype,early_stopping,embd_pdrop,embedding_dropout,"
    "embedding_multiplier,embedding_size,enable_bias,encoder_attention_heads,encoder_ffn_dim,encoder_layerdrop,"
    "encoder_layers,encoder_no_repeat_ngram_size,encoder_stride,eos_token_id,eos_token_ids,extra_pos_embeddings,"
    "feed_forward_proj,ffn_dim,final_logit_softcapping,finetuning_task,force_bos_token_to_be_generated,"
    "forced_bos_token_id,forced_decoder_ids,forced_eos_token_id,full_attn_mod,gap_size,"
    "global_attn_every_n_layers,global_rope_theta,gradient_checkpointing,head_dim,hidden_act,hidden_activation,"
    "hidden_dim,hidden_dropout,hidden_dropout_prob,hidden_size,id2label,image_size,init_std,"
    "initializer_cutoff_factor,initializer_factor,initializer_range,inner_group_num,intermediate_size,"
    "interpolate_factor,is_causal,is_composition,is_decoder,is_encoder_decoder,is_gated_act,is_llama_config,"
    "label2id,language,layer_norm_elementwise_affine,layer_norm_eps,layer_norm_epsilon,layer_types,layerdrop,"
    "length_penalty,local_attention,local_rope_theta,logits_scaling,mask_feature_length,mask_feature_min_masks,"
    "mask_feature_prob,mask_time_length,mask_time_min_masks,mask_time_prob,mask_token_id,max_length,"
    "max_position_embeddings,max_sequence_length,max_source_positions,max_target_positions,max_window_layers,"
    "median_filter_width,min_length,mlp_bias,mlp_dropout,model_max_length,model_type,n_ctx,n_embd,n_head,n_heads,"
    "n_inner,n_layer,n_layers,n_positions,name,neftune_noise_alpha,net_structure_type,no_repeat_ngram_size,"
    "norm_bias,norm_eps,normalize_before,normalize_embedding,num_attention_heads,num_beam_groups,num_beams,"
    "num_channels,num_decoder_layers,num_heads,num_hidden_groups,num_hidden_layers,num_key_value_heads,"
    "num_labels,num_layers,num_mel_bins,num_memory_blocks,num_return_sequences,original_max_position_embeddings,"
    "output_attentions,output_hidden_states,output_past,output_scores,pad_token_id,partial_rotary_factor,"
    "patch_size,pooler_act,pooler_fc_size,pooler_num_attention_heads,pooler_num_fc_layers,pooler_output_size,"
    "pooler_size_per_head,pooler_type,position_embedding_type,prefix,pretraining_tp,problem_type,projection_dim,"
    "pruned_heads,qa_dropout,qkv_bias,query_pre_attn_scalar,reference_compile,relative_attention_max_distance,"
    "relative_attention_num_buckets,reorder_and_upcast_attn,repad_logits_with_grad,repetition_penalty,"
    "replacing_rate,resid_pdrop,residual_multiplier,return_dict,return_dict_in_generate,rms_norm_eps,"
    "rope_local_base_freq,rope_parameters,rope_scaling,rope_theta,save_step,sbert_ce_default_activation_function,"
    "scale_attn_by_inverse_layer_idx,scale_attn_weights,scale_decoder_outputs,scale_embedding,"
    "sentence_transformers,sep_token_id,seq_classif_dropout,share_encoder_decoder_embeddings,"
    "sinusoidal_pos_embds,sliding_window,sliding_window_pattern,sliding_window_size,sparse_pred_ignore_index,"
    "sparse_prediction,static_position_embeddings,summary_activation,summary_first_dropout,summary_last_dropout,"
    "summary_proj_to_labels,summary_type,summary_use_proj,suppress_tokens,task_specific_params,temperature,"
    "tie_weights_,tie_word_embeddings,tokenizer_class,top_k,top_p,torch_dtype,torchscript,transformers.js_config,"
    "transformers_version,type_vocab_size,typical_p,unk_token_id,unsloth_fixed,unsloth_version,use_bfloat16,"
    "use_bidirectional_attention,use_cache,use_return_dict,use_sliding_window,use_weighted_layer_sum,vocab_size,"
    "word_embed_proj_dim,";

// Settings that change numbers and that only the classes of these families read. The classes of other families ignore
// them, and heed's layers would not: such a configuration is refused.
struct OfFamilies {
  std::string_view name;
  std::string_view families;
};
constexpr std::string_view kGemma = ",gemma2,gemma3_text,";
constexpr std::string_view kGranite = ",granite,";
constexpr std::string_view kRotary = ",gemma,gemma2,gemma3_text,granite,llama,mistral,modernbert,phi3,qwen2,qwen3,";
constexpr OfFamilies kOfFamilies[] = {
    {"attention_multiplier", kGranite},
    {"attn_logit_softcapping", kGemma},
    {"embedding_multiplier", kGranite},
    {"final_logit_softcapping", kGemma},
    {"layer_types", ",gemma2,gemma3_text,modernbert,qwen2,qwen3,"},
    {"local_attention", ",modernbert,"},
    {"logits_scaling", kGranite},
    {"query_pre_attn_scalar", kGemma},
    {"residual_multiplier", kGranite},
    {"rope_parameters", kRotary},
    {"rope_scaling", kRotary},
    {"rope_theta", kRotary},
    {"scale_decoder_outputs", ",t5,"},
    {"scale_embedding", ",bart,marian,mbart,whisper,"},
    {"sliding_window", ",gemma2,gemma3_text,mistral,phi3,qwen2,qwen3,"},
    {"use_bidirectional_attention", ",gemma3_text,"},
};

// Whether `list` has the name between two of its commas.
bool has(std::string_view list, std::string_view name) {
  return name.find(',') == std::string_view::npos && list.find("," + std::string(name) + ",") != std::string_view::npos;
}

// Phi-3 alone rotates a part of each head. Others may say that it is the whole.
bool rotates_part(const ModelConfig& config, std::string_view name) {
  if (name == "partial_rotary_factor") return config.number(name).value_or(1) != 1;
  if (name != "rope_parameters" && name != "rope_scaling") return false;
  return config.number(std::string(name) + ".partial_rotary_factor").value_or(1) != 1;
}

bool is_of_another_family(const ModelConfig& config, std::string_view name, std::string_view model_type) {
  if (model_type != "phi3" && rotates_part(config, name)) return true;
  return std::ranges::any_of(kOfFamilies,
                             [&](const OfFamilies& one) { return one.name == name && !has(one.families, model_type); });
}

}  // namespace

void require_known_settings(const ModelConfig& config, std::string_view model_type) {
  for (const std::string& name : config.names_in_use()) {
    if (is_of_another_family(config, name, model_type)) {
      fail(Status::Unsupported,
           "%s has \"%s\", a setting that models of model_type \"%s\" do not have and that changes the numbers of "
           "others: expected a configuration without it",
           in_quotes(config.path()).c_str(), shown(name).c_str(), std::string(model_type).c_str());
    }
    if (has(kKnown, name)) continue;
    fail(Status::Unsupported,
         "%s has \"%s\", a setting that heed does not know and that may change the model's numbers: expected a "
         "configuration without it",
         in_quotes(config.path()).c_str(), shown(name).c_str());
  }
}

}  // namespace heed
