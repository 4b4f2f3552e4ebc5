# SPDX-License-Identifier: Apache-2.0
"""Golden files of attention and whole blocks from the model classes of Hugging Face transformers.

    make_models.py OUT_FOLDER [--seed N] [--held-out] [--only NAME ...]

Every model is built from a tiny configuration with random weights, so nothing is downloaded. A folder for each holds

    model.safetensors   as model.save_pretrained writes it
    config.json         the same, without the version of transformers
    cases.safetensors   inputs and expected outputs; its __metadata__ says what each tensor is

Expected numbers are computed by model.double(), in F64 from end to end (see KeepDouble), and stored as F32. The same
model is also run in F32, with the eager and the SDPA attention, and has to agree; so has a fresh model made from the
two files. --held-out takes other configurations: other sizes, counts of heads, lengths, masks and flags.

data/models has what it makes without --held-out, and models_test.cc loads it. Expected rows of padded tokens are zero.
"""
import argparse
import json
import logging
import os
import re
import shutil
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TQDM_DISABLE", "1")

import numpy as np
import torch
import transformers as hf
from safetensors.numpy import load_file
from torch.overrides import TorchFunctionMode
from transformers.models.bloom.modeling_bloom import _get_alibi_slopes
from transformers.models.falcon.modeling_falcon import build_alibi_tensor as falcon_alibi
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

torch.set_num_threads(1)
warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
hf.logging.set_verbosity_error()

PREFILL, STEPS, CHUNK = 9, 3, 4          # tokens of the case with a KV cache
TOLERANCE = 1e-5                         # F32 eager and SDPA against F64, relative to the largest magnitude


# ---------------------------------------------------------------------------------------------------------------------
# Families: a class, a configuration, and the paths of its modules.


@dataclass
class Family:
    """One folder. Paths are module paths from the model; {} stands for the index of a layer."""

    name: str
    model: type
    config: object
    kind: str = "decoder"                # encoder, decoder, seq2seq, whisper, image, or config (no numbers)
    layer: str = ""
    attention: str = ""                  # the module whose input is stored, relative to the layer
    projection: str = ""                 # the linear layer whose output is stored, relative to the layer
    rotary: str = ""                     # the module that computes cos and sin
    decoder_layer: str = ""              # with an encoder: the path of the decoder's layers
    cross: tuple = ()                    # (module, projection) of cross attention, relative to the decoder's layer
    token_types: bool = False
    implementation: str = "eager"        # the attention implementation of the expected numbers
    known_wrong: tuple = ()              # the implementation that does not agree, see the notes
    score_gain: float = 1.3              # factor of the weights of queries and keys
    notes: str = ""
    extra: object = None                 # function(family, model) -> further tensors


def families(held):
    """All families; `held` chooses the second, held-out value of each pair."""

    def pick(normal, other):
        return other if held else normal

    base = dict(
        hidden_size=pick(32, 36), num_attention_heads=pick(4, 6), num_hidden_layers=2, intermediate_size=pick(24, 20),
        vocab_size=pick(40, 37), max_position_embeddings=pick(32, 29))
    grouped = dict(base, num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2)
    short = dict(num_hidden_layers=pick(2, 1))               # keeps the held-out set small
    own_head = dict(grouped, head_dim=pick(12, 10))          # heads * head_dim is not hidden_size
    wide = dict({**grouped, **short}, num_attention_heads=pick(2, 3), num_key_value_heads=1, head_dim=16)

    # The encoders with BERT's layout. The held-out ones are other classes with other prefixes.
    bert = dict(base, hidden_act=pick("gelu", "gelu_new"), type_vocab_size=2, pad_token_id=0)
    bert_like = dict(kind="encoder", attention="attention.self", projection="attention.output.dense")
    yield Family("bert", pick(hf.BertModel, hf.BertForMaskedLM), hf.BertConfig(**bert),
                 layer=pick("encoder.layer.{}", "bert.encoder.layer.{}"), token_types=True, notes="Norms behind each part.",
                 **bert_like)
    yield Family("roberta", pick(hf.RobertaForMaskedLM, hf.RobertaModel),
                 hf.RobertaConfig(**dict(bert, type_vocab_size=1, pad_token_id=1, layer_norm_eps=pick(1e-5, 1e-12),
                                         max_position_embeddings=pick(34, 31))),
                 layer=pick("roberta.encoder.layer.{}", "encoder.layer.{}"),
                 notes="Positions start at row pad_token_id + 1 = 2 of the position table.", **bert_like)
    yield Family("electra", hf.ElectraModel, hf.ElectraConfig(**bert, embedding_size=pick(24, 36)),
                 layer="encoder.layer.{}", token_types=True, notes="Norms behind each part.", **bert_like)
    yield Family("distilbert", pick(hf.DistilBertModel, hf.DistilBertForMaskedLM),
                 hf.DistilBertConfig(vocab_size=base["vocab_size"], dim=base["hidden_size"], n_layers=pick(2, 1),
                                     n_heads=base["num_attention_heads"], hidden_dim=base["intermediate_size"],
                                     max_position_embeddings=base["max_position_embeddings"], pad_token_id=0,
                                     sinusoidal_pos_embds=held),
                 kind="encoder", layer=pick("transformer.layer.{}", "distilbert.transformer.layer.{}"),
                 attention="attention", projection="attention.out_lin", notes="Norms behind each part, epsilon 1e-12.")
    yield Family("albert", hf.AlbertModel, hf.AlbertConfig(**bert, embedding_size=pick(16, 12), num_hidden_groups=1),
                 kind="encoder", layer="encoder.albert_layer_groups.0.albert_layers.0", attention="attention",
                 projection="attention.dense", token_types=True,
                 notes="One layer's weights, applied num_hidden_layers times: layer0.* are those of the first time.")
    yield Family("vit", hf.ViTModel,
                 hf.ViTConfig(**{k: v for k, v in base.items() if "vocab" not in k and "max_pos" not in k},
                              image_size=pick(12, 15), patch_size=pick(4, 5), num_channels=pick(3, 1), qkv_bias=not held),
                 kind="image", layer="layers.{}", attention="attention", projection="attention.o_proj",
                 notes="Norms before each part. The file has the names of old (encoder.layer.0.attention.attention.query), "
                       "state_dict() of this version others (layers.0.attention.q_proj).")
    yield Family("clip-text", hf.CLIPTextModel,
                 hf.CLIPTextConfig(**base, pad_token_id=0, bos_token_id=1, eos_token_id=base["vocab_size"] - 1,
                                   hidden_act=pick("quick_gelu", "gelu")),
                 kind="encoder", layer="encoder.layers.{}", attention="self_attn", projection="self_attn.out_proj",
                 notes="Causal, although the class calls it an encoder. No text_model. before the names in this version.")
    yield Family("modernbert", hf.ModernBertModel,
                 hf.ModernBertConfig(**base, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2,
                                     local_attention=pick(4, 6), global_attn_every_n_layers=2, attention_bias=held),
                 kind="encoder", layer="layers.{}", attention="attn", projection="attn.Wo", rotary="rotary_emb",
                 notes="Layer 0 sees all tokens, layer 1 those with |p_q - p_k| <= local_attention / 2.")

    # Decoders without rotary positions. With up to 8 heads ALiBi's slopes are powers of two; with 10 or 12 heads they
    # are not.
    yield Family("gpt2", pick(hf.GPT2LMHeadModel, hf.GPT2LMHeadModel),
                 hf.GPT2Config(vocab_size=base["vocab_size"], n_positions=base["max_position_embeddings"],
                               n_embd=pick(32, 35), n_layer=2, n_head=pick(4, 5), n_inner=pick(None, 40),
                               activation_function=pick("gelu_new", "relu"), bos_token_id=1, eos_token_id=2,
                               scale_attn_by_inverse_layer_idx=held),
                 layer="transformer.h.{}", attention="attn", projection="attn.c_proj",
                 notes="Conv1D weights are (in, out)." + pick("", " scale_attn_by_inverse_layer_idx: scores / (layer + 1)."))
    yield Family("opt", hf.OPTForCausalLM,
                 hf.OPTConfig(vocab_size=base["vocab_size"], hidden_size=base["hidden_size"], num_hidden_layers=2,
                              ffn_dim=base["intermediate_size"], num_attention_heads=base["num_attention_heads"],
                              max_position_embeddings=base["max_position_embeddings"], pad_token_id=1, bos_token_id=2,
                              eos_token_id=2, word_embed_proj_dim=pick(32, 20), do_layer_norm_before=not held),
                 layer="model.decoder.layers.{}", attention="self_attn", projection="self_attn.out_proj",
                 notes="Positions start at row 2 of the position table, always.")
    yield Family("bloom", hf.BloomForCausalLM,
                 hf.BloomConfig(vocab_size=base["vocab_size"], hidden_size=pick(36, 40), n_layer=1,
                                n_head=pick(12, 10), pad_token_id=0, bos_token_id=1, eos_token_id=2,
                                apply_residual_connection_post_layernorm=held),
                 layer="transformer.h.{}", attention="self_attention", projection="self_attention.dense", extra=bloom_slopes,
                 notes="query_key_value packs (head, [q k v], head size). ALiBi: slope * key position, not relative.")
    yield Family("mpt", hf.MptForCausalLM,
                 hf.MptConfig(vocab_size=base["vocab_size"], d_model=36, n_layers=pick(2, 1),
                              n_heads=pick(6, 12), max_seq_len=base["max_position_embeddings"],
                              expansion_ratio=1,
                              attn_config=pick({}, {"clip_qkv": 1.5, "softmax_scale": 0.6})),
                 layer="transformer.blocks.{}", attention="attn", projection="attn.out_proj", extra=mpt_slopes,
                 notes="Wqkv packs q, k, v one after another. The class ignores alibi_bias_max: it is always 8."
                 + pick("", " q, k, v are clamped to +-clip_qkv."))

    # Rotary positions.
    llama = dict(layer="model.layers.{}", attention="self_attn", projection="self_attn.o_proj", rotary="model.rotary_emb")
    half = " Rotary pairs are (i, i + r/2)."

    def rope(kind, theta=10000.0, **more):
        return {"rope_parameters": dict(rope_type=kind, rope_theta=theta, **more)}

    yield Family("llama", hf.LlamaForCausalLM,
                 hf.LlamaConfig(**grouped, **rope("default", pick(1e4, 500.0)), attention_bias=held, mlp_bias=held,
                                tie_word_embeddings=held, rms_norm_eps=pick(1e-5, 1e-6)), notes=half, **llama)
    yield Family("llama-rope-linear", hf.LlamaForCausalLM,
                 hf.LlamaConfig(**wide, **rope("linear", factor=pick(4.0, 2.5))), notes=half, **llama)
    yield Family("llama-rope-llama3", hf.LlamaForCausalLM,
                 hf.LlamaConfig(**wide, **rope("llama3", pick(1e4, 2000.0), factor=pick(8.0, 3.0), low_freq_factor=1.0,
                                               high_freq_factor=4.0, original_max_position_embeddings=pick(64, 40))),
                 notes=half, **llama)
    yield Family("llama-rope-yarn", hf.LlamaForCausalLM,
                 hf.LlamaConfig(**wide, **rope("yarn", pick(1e4, 1500.0), factor=pick(4.0, 8.0),
                                               original_max_position_embeddings=pick(512, 300),
                                               **pick({}, dict(beta_fast=20.0, beta_slow=2.0, truncate=False)))),
                 notes=half + " YaRN with the rounded range" + pick(".", " switched off (truncate false), as gpt-oss."), **llama)
    yield Family("llama-rope-yarn-factor", hf.LlamaForCausalLM,
                 hf.LlamaConfig(**wide, **rope("yarn", factor=4.0, original_max_position_embeddings=512,
                                               **pick(dict(attention_factor=1.0), dict(mscale=0.707, mscale_all_dim=1.3)))),
                 notes=half + pick(" An explicit attention_factor of 1 replaces the formula's.",
                                   " attention_factor from mscale and mscale_all_dim."), **llama)
    yield Family("llama-rope-dynamic", hf.LlamaForCausalLM,
                 hf.LlamaConfig(**grouped, **rope("dynamic", factor=2.0)), kind="config",
                 notes="Frequencies depend on the length, while keys are cached: to be refused. Configuration only.")
    for name, length in (("phi3", None), ("phi3-longrope-short", 32), ("phi3-longrope-long", 8)):
        # The short list is for up to original_max_position_embeddings tokens, the long one for more.
        factors = [round(1.0 + 0.37 * i, 2) for i in range(pick(3, 2))]
        scaling = rope("default") if length is None else rope(
            "longrope", short_factor=factors, long_factor=[round(1.5 + 2.1 * f, 2) for f in factors], factor=pick(4.0, 6.0))
        scaling["rope_parameters"]["partial_rotary_factor"] = 0.75
        more = {} if length is None else dict(original_max_position_embeddings=length)
        if length:
            scaling["rope_parameters"]["original_max_position_embeddings"] = length
        yield Family(name, hf.Phi3ForCausalLM,
                     hf.Phi3Config(**{**grouped, **(short if length else {}),
                                      "max_position_embeddings": length * 4 if length else 32},
                                   **scaling, **more, sliding_window=pick(None, 5) if length is None else None),
                     notes="qkv_proj packs q, k, v one after another; gate_up_proj packs gate, up." + half, **llama)
    yield Family("mistral", hf.MistralForCausalLM,
                 hf.MistralConfig(**dict(grouped, head_dim=pick(8, 10)), sliding_window=pick(4, 3)),
                 notes="sliding_window counts the token itself." + half, **llama)
    yield Family("qwen2", hf.Qwen2ForCausalLM, hf.Qwen2Config(**grouped, tie_word_embeddings=held), notes=half, **llama)
    yield Family("qwen3", hf.Qwen3ForCausalLM, hf.Qwen3Config(**own_head, attention_bias=held),
                 notes="q_norm and k_norm, one RMS norm per head, before the rotation." + half, **llama)
    gemma = dict(hidden_activation="gelu_pytorch_tanh")
    plus_one = "RMS norms multiply by 1 + weight; embeddings are multiplied by sqrt(hidden_size)."
    yield Family("gemma", hf.GemmaForCausalLM, hf.GemmaConfig(**dict(own_head, num_key_value_heads=pick(1, 3))),
                 notes=plus_one + half, **llama)
    yield Family("gemma2", hf.Gemma2ForCausalLM,
                 hf.Gemma2Config(**own_head, **gemma, query_pre_attn_scalar=pick(20, 7), attn_logit_softcapping=pick(2.0, 1.5),
                                 final_logit_softcapping=pick(5.0, 8.0), sliding_window=pick(4, 5),
                                 layer_types=pick(["sliding_attention", "full_attention"],
                                                  ["full_attention", "sliding_attention"])),
                 score_gain=1.6, notes=plus_one + half, **llama)
    yield Family("gemma3", hf.Gemma3ForCausalLM,
                 hf.Gemma3TextConfig(**own_head, **gemma, query_pre_attn_scalar=pick(20, 7), sliding_window=pick(4, 5),
                                     layer_types=["sliding_attention", "full_attention"],
                                     rope_parameters={
                                         "sliding_attention": {"rope_type": "default", "rope_theta": pick(1e4, 300.0)},
                                         "full_attention": {"rope_type": "linear", "rope_theta": pick(1e6, 5000.0),
                                                            "factor": pick(8.0, 3.0)}}),
                 notes=plus_one + " q_norm and k_norm before the rotation; a base for each kind of layer." + half, **llama)
    yield Family("gpt-neox", hf.GPTNeoXForCausalLM,
                 hf.GPTNeoXConfig(**dict(base, num_attention_heads=pick(4, 3)), bos_token_id=1, eos_token_id=2,
                                  use_parallel_residual=not held,
                                  **rope("default", partial_rotary_factor=pick(0.5, 0.34))),
                 layer="gpt_neox.layers.{}", attention="attention", projection="attention.dense",
                 rotary="gpt_neox.rotary_emb", notes="query_key_value packs (head, [q k v], head size)." + half)
    yield Family("gptj", hf.GPTJForCausalLM,
                 hf.GPTJConfig(vocab_size=base["vocab_size"], n_positions=base["max_position_embeddings"],
                               n_embd=base["hidden_size"], n_layer=2, n_head=base["num_attention_heads"], n_inner=pick(24, 28),
                               rotary_dim=pick(4, 6), bos_token_id=1, eos_token_id=2),
                 layer="transformer.h.{}", attention="attn", projection="attn.out_proj", extra=gptj_tables,
                 notes="Rotary pairs are (2i, 2i + 1).")
    falcon = dict(short, vocab_size=base["vocab_size"], ffn_hidden_size=24, bos_token_id=1, eos_token_id=2,
                  max_position_embeddings=base["max_position_embeddings"])
    falcon_at = dict(layer="transformer.h.{}", attention="self_attention", projection="self_attention.dense")
    yield Family("falcon-multi-query", hf.FalconForCausalLM,
                 hf.FalconConfig(**falcon, hidden_size=base["hidden_size"], num_attention_heads=base["num_attention_heads"],
                                 multi_query=True, bias=held),
                 rotary="transformer.rotary_emb", notes="query_key_value packs all q heads, k, v." + half, **falcon_at)
    yield Family("falcon-new", hf.FalconForCausalLM,
                 hf.FalconConfig(**falcon, hidden_size=pick(32, 36), num_attention_heads=pick(4, 6), num_kv_heads=pick(2, 3),
                                 new_decoder_architecture=True, bias=held),
                 rotary="transformer.rotary_emb",
                 notes="query_key_value packs (key head, [its q heads, k, v], head size)." + half, **falcon_at)
    yield Family("falcon-alibi", hf.FalconForCausalLM,
                 hf.FalconConfig(**falcon, hidden_size=pick(36, 40), num_attention_heads=pick(12, 10),
                                 multi_query=held, parallel_attn=held, alibi=True, bias=not held),
                 extra=falcon_slopes, implementation="sdpa", known_wrong=("eager",), **falcon_at,
                 notes="ALiBi is added before the division by sqrt(head size): the slope in effect is slope / sqrt(head "
                       "size). Slopes and biases are rounded to bfloat16. The numbers are those of SDPA, the default: "
                       "this version's eager attention adds ALiBi twice. query_key_value packs "
                       + pick("(head, [q k v], head size).", "all q heads, k, v."))
    yield Family("gpt-oss", hf.GptOssForCausalLM,
                 hf.GptOssConfig(**dict(wide, num_hidden_layers=2, num_attention_heads=pick(4, 6), num_key_value_heads=2,
                                        intermediate_size=pick(16, 20)), num_local_experts=3, num_experts_per_tok=2,
                                 sliding_window=pick(4, 5),
                                 layer_types=pick(["sliding_attention", "full_attention"],
                                                  ["full_attention", "sliding_attention"]),
                                 **rope("yarn", pick(150000.0, 4000.0), factor=pick(32.0, 5.0), beta_fast=32.0, beta_slow=1.0,
                                        original_max_position_embeddings=4096, truncate=False)),
                 notes="sinks: one more score for each head in the softmax, not scaled. attention.weights leave the sink "
                       "out and sum to less than 1. cos and sin hold r/2 columns." + half, **llama)
    yield Family("granite", hf.GraniteForCausalLM,
                 hf.GraniteConfig(**{**grouped, **short}, attention_multiplier=pick(0.5, 0.3), residual_multiplier=0.7,
                                  embedding_multiplier=pick(3.0, 1.5), logits_scaling=pick(4.0, 2.0), attention_bias=held),
                 notes="Scores are multiplied by attention_multiplier, not 1/sqrt(head size)." + half, **llama)
    yield Family("cohere", hf.CohereForCausalLM,
                 hf.CohereConfig(**{**grouped, **short}, use_qk_norm=held, attention_bias=not held),
                 notes="Rotary pairs are (2i, 2i + 1)."
                       + pick("", " q_norm and k_norm are layer norms (mean subtracted) with one weight for each head."), **llama)
    yield Family("deepseek-v3", hf.DeepseekV3ForCausalLM,
                 hf.DeepseekV3Config(**dict({**base, **short}, num_key_value_heads=base["num_attention_heads"]),
                                     first_k_dense_replace=2, q_lora_rank=pick(12, None), kv_lora_rank=12,
                                     qk_rope_head_dim=pick(8, 6),
                                     qk_nope_head_dim=pick(5, 4), v_head_dim=pick(6, 7), n_routed_experts=2,
                                     moe_intermediate_size=8, num_experts_per_tok=1, n_group=1, topk_group=1,
                                     pad_token_id=None, bos_token_id=1, eos_token_id=2,
                                     **rope("yarn", factor=pick(4.0, 8.0), mscale=pick(1.0, 0.707), mscale_all_dim=1.0,
                                            beta_fast=32.0, beta_slow=1.0, original_max_position_embeddings=512)),
                 notes="Multi-head latent attention; the first layers, which are dense (no experts). The rotary slice is stored "
                       "interleaved, (2i, 2i + 1), and is sorted into halves before the rotation.", **llama)

    # Encoder and decoder.
    bart = dict(vocab_size=base["vocab_size"], d_model=base["hidden_size"], encoder_layers=pick(2, 1), decoder_layers=1,
                encoder_attention_heads=base["num_attention_heads"], decoder_attention_heads=pick(4, 3),
                encoder_ffn_dim=base["intermediate_size"], decoder_ffn_dim=pick(24, 20), dropout=0.0)
    bart_at = dict(kind="seq2seq", layer="model.encoder.layers.{}", decoder_layer="model.decoder.layers.{}",
                   attention="self_attn", projection="self_attn.out_proj", cross=("encoder_attn", "encoder_attn.out_proj"))
    bart_ids = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None)
    positions = base["max_position_embeddings"]
    yield Family("bart", hf.BartForConditionalGeneration,
                 hf.BartConfig(**bart, **bart_ids, max_position_embeddings=positions, scale_embedding=held),
                 notes="Norms behind each part. Positions start at row 2 of the tables.", **bart_at)
    yield Family("mbart", hf.MBartForConditionalGeneration,
                 hf.MBartConfig(**bart, **bart_ids, max_position_embeddings=positions, scale_embedding=not held),
                 notes="Norms before each part and a final norm. Positions start at row 2 of the tables.", **bart_at)
    yield Family("marian", hf.MarianMTModel,
                 hf.MarianConfig(**bart, **bart_ids, max_position_embeddings=positions, scale_embedding=not held),
                 extra=marian_positions, notes="Sinusoidal positions, which are not in model.safetensors: all sines, then all "
                 "cosines, p / 10000^(2i/d) for both.", **bart_at)
    yield Family("t5", hf.T5ForConditionalGeneration,
                 hf.T5Config(vocab_size=base["vocab_size"], d_model=base["hidden_size"], d_kv=pick(8, 5), num_layers=pick(2, 1),
                             num_decoder_layers=2, num_heads=base["num_attention_heads"], d_ff=base["intermediate_size"],
                             relative_attention_num_buckets=pick(8, 12), relative_attention_max_distance=pick(12, 20),
                             feed_forward_proj=pick("relu", "gated-gelu"), tie_word_embeddings=not held, dropout_rate=0.0,
                             pad_token_id=0, eos_token_id=1, decoder_start_token_id=0),
                 kind="seq2seq", layer="encoder.block.{}", decoder_layer="decoder.block.{}", attention="layer.0.SelfAttention",
                 projection="layer.0.SelfAttention.o", cross=("layer.1.EncDecAttention", "layer.1.EncDecAttention.o"),
                 extra=t5_bias, notes="Scale 1. No bias in cross attention. Layer 0's bias serves all layers.")
    yield Family("whisper", hf.WhisperForConditionalGeneration,
                 hf.WhisperConfig(**dict(bart, decoder_layers=pick(2, 1)), num_mel_bins=pick(8, 5),
                                  max_source_positions=pick(12, 11), max_target_positions=positions,
                                  pad_token_id=0, bos_token_id=1, eos_token_id=2,
                                  decoder_start_token_id=3, begin_suppress_tokens=None),
                 **dict(bart_at, kind="whisper"), extra=whisper_positions,
                 notes="k_proj has no bias. The encoder's positions are sines, then cosines, p * 10000^(-i/(d/2 - 1)).")


# Tensors that only some families have.


def bloom_slopes(family, model):
    return {"slopes": _get_alibi_slopes(family.config.n_head, None)}


def falcon_slopes(family, model):
    heads = family.config.num_attention_heads
    bias = falcon_alibi(torch.ones(1, 16, dtype=torch.long), heads, torch.float32)     # (heads, 1, 16)
    return {"slopes": bias[:, 0, 1].clone(), "alibi": bias[:, 0].clone()}


def mpt_slopes(family, model):
    bias = build_mpt_alibi_tensor(family.config.n_heads, 2)
    return {"slopes": -bias[:, 0, 0]}


def gptj_tables(family, model):
    sin, cos = model.transformer.h[0].attn.embed_positions[:16].float().chunk(2, dim=-1)
    size = family.config.rotary_dim
    return {"sin": sin, "cos": cos, "inv_freq": 1.0 / 10000 ** (torch.arange(0, size, 2) / size)}


def t5_bias(family, model):
    tables = {}
    for side in ("encoder", "decoder"):
        attention = getattr(model, side).block[0].layer[0].SelfAttention
        length = PREFILL + STEPS + CHUNK
        buckets = attention._relative_position_bucket(
            torch.arange(-24, 25), bidirectional=side == "encoder", num_buckets=attention.relative_attention_num_buckets,
            max_distance=attention.relative_attention_max_distance)
        tables[f"{side}.relative_bias"] = attention.compute_bias(length, length).float()
        tables[f"{side}.buckets"] = buckets
    return tables


def marian_positions(family, model):
    return {"positions": model.model.encoder.embed_positions.weight.detach().float()}


def whisper_positions(family, model):
    return {"encoder.positions": model.model.encoder.embed_positions.weight.detach().float()}


# The meanings of the keys in cases.safetensors. A pattern must match the whole key.
MEANINGS = [
    (r"(decode\.)?(decoder_)?input_ids", "token ids"),
    (r"attention_mask", "1: a token, 0: padding on the right. Expected rows of padded tokens are stored as 0"),
    (r"token_type_ids", "segment ids"),
    (r"input_features", "mel features (batch, bins, frames)"),
    (r"pixel_values", "image (batch, channels, height, width)"),
    (r"(.*\.)?hidden_states", "input of layer 0: the embeddings, positions added where the family adds them"),
    (r".*attention\.input", "what the attention module gets (after a norm before it, if any)"),
    (r".*attention\.memory", "keys and values of cross attention, before their projections"),
    (r".*attention\.output", "behind the output projection and its bias, before residual and norm"),
    (r".*attention\.weights", "after the softmax (batch, heads, queries, keys)"),
    (r".*layer\d\.output", "output of the whole layer"),
    (r"(.*\.)?last_hidden_state", "output of the stack, after its final norm where it has one"),
    (r"pooler_output", "the pooler's output"),
    (r"(.*\.)?logits", "scores of the vocabulary"),
    (r"(.*\.)?(cos|sin)(\..*)?", "rotary tables (1, positions, columns), attention_factor in them"),
    (r"inv_freq(\..*)?", "rotary frequencies as transformers has them, F32"),
    (r"attention_factor(\..*)?", "factor that is in cos and sin"),
    (r".*relative_bias", "T5: added to the scores of every layer (1, heads, queries, keys)"),
    (r".*buckets", "T5: bucket of key - query = -24..24"),
    (r"slopes", "ALiBi: a slope for each head"),
    (r"alibi", "ALiBi: what is added to the scores of keys 0..15, before their division by sqrt(head size)"),
    (r".*positions", "table of positions"),
    (r"decode\..*cache\.(keys|values)", "the KV cache after the last chunk (batch, key heads, positions, head size), keys "
                                        "rotated; a layer with a window keeps only the last window - 1 positions; DeepSeek: "
                                        "keys are the normed latent, values the rotated slice"),
]


# ---------------------------------------------------------------------------------------------------------------------
# Weights and exact arithmetic.


def fill(model, family, seed):
    """Random weights with which attention is far from uniform, and norms, biases and sinks change the result."""
    embeddings = {id(m.weight) for m in model.modules() if isinstance(m, torch.nn.Embedding)}
    scores = re.compile(r"(query|key|q_proj|k_proj|q_lin|k_lin|c_attn|query_key_value|qkv_proj|Wqkv|q_b_proj|\.q|\.k)\.weight$")
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if not weight.requires_grad:                      # sinusoidal tables
                continue
            draw = np.random.default_rng([seed, zlib.crc32(f"{family.name}/{name}".encode())]).standard_normal
            random = torch.tensor(draw(tuple(weight.shape)), dtype=torch.float32)
            if id(weight) in embeddings:
                scaled = getattr(family.config, "scale_embedding", False) and "position" not in name
                weight.copy_(random * (0.7 / family.config.d_model**0.5 if scaled else 0.7))
            elif name.endswith("sinks"):
                weight.copy_(random)
            elif weight.dim() == 1 or name.endswith("_bias"):  # norms start from 1 (Gemma's from 0), biases from 0
                weight.copy_((weight == 1).float() + 0.3 * random)
            else:
                in_first = isinstance(model.get_submodule(name.rpartition(".")[0]), hf.pytorch_utils.Conv1D)
                fan_in = weight.shape[0] if in_first else weight.shape[1] if "experts" in name else weight[0].numel()
                gain = family.score_gain if scores.search(name) else 1.0
                if family.name == "t5" and name.endswith(".q.weight"):  # T5 has no scale
                    gain /= family.config.d_kv ** 0.5
                weight.copy_(random * gain / fan_in**0.5)


class KeepDouble(TorchFunctionMode):
    """Keeps F64 where transformers casts to F32: norms, softmax, rotary tables, the scores of GPT-J."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        wide = any(isinstance(a, torch.Tensor) and a.dtype == torch.float64 for a in args)
        if wide and function is torch.Tensor.float:
            return args[0]
        if wide and function is torch.Tensor.to:
            args = tuple(torch.float64 if a is torch.float32 else a for a in args)
        if wide and kwargs.get("dtype") is torch.float32:
            kwargs["dtype"] = torch.float64
        return function(*args, **kwargs)


# ---------------------------------------------------------------------------------------------------------------------
# Runs a model and stores the inputs and outputs of its modules.


class Recorder:
    """Forward hooks that store tensors under their names in the files."""

    def __init__(self, model, family):
        self.model, self.family, self.found, self.handles = model, family, {}, []
        sides = [("", family.layer, family.attention, family.projection, "attention")]
        if family.cross:
            sides = [("encoder.", family.layer, family.attention, family.projection, "attention"),
                     ("decoder.", family.decoder_layer, family.attention, family.projection, "self_attention"),
                     ("decoder.", family.decoder_layer, *family.cross, "cross_attention")]
        for side, layer, attention, projection, label in sides:
            many = hasattr(family.config, "layer_types") or hasattr(family.config, "scale_attn_by_inverse_layer_idx")
            count = len(model.get_submodule(layer.removesuffix(".{}"))) if "{}" in layer else 1
            for number in range(count):
                path, name = layer.format(number), f"{side}layer{number}"
                if number == 0 or many:                       # also the second layer's attention where it may differ
                    self.watch(f"{path}.{attention}", self.attention, f"{name}.{label}")
                    self.watch(f"{path}.{projection}", self.output, f"{name}.{label}.output")
                if label != "cross_attention":
                    self.watch(path, self.layer, (name, f"{side}hidden_states" if number == 0 else None))
        if family.rotary:
            self.watch(family.rotary, self.rotary, None)

    def watch(self, path, function, name):
        def hook(module, args, kwargs, output):
            function(name, module, args, kwargs, output)

        self.handles.append(self.model.get_submodule(path).register_forward_hook(hook, with_kwargs=True))

    def keep(self, name, tensor):
        # ALBERT's layer runs twice: the first run is stored.
        self.found.setdefault(name, tensor.detach().clone())

    @staticmethod
    def first(args, kwargs):
        return args[0] if args else kwargs["hidden_states"]

    def attention(self, name, module, args, kwargs, output):
        self.keep(f"{name}.input", self.first(args, kwargs))
        if "cross" in name:
            memory = kwargs.get("key_value_states", kwargs.get("encoder_hidden_states"))
            self.keep(f"{name}.memory", memory if memory is not None else args[1])
        weights = output[-1] if isinstance(output, tuple) else None     # T5 also returns its bias, (1, ...)
        if isinstance(weights, torch.Tensor) and weights.dim() == 4 and len(weights) == len(self.first(args, kwargs)):
            self.keep(f"{name}.weights", weights)

    def output(self, name, module, args, kwargs, output):
        self.keep(name, output)

    def layer(self, names, module, args, kwargs, output):
        name, embedded = names
        self.keep(f"{name}.output", output[0] if isinstance(output, tuple) else output)
        if embedded:
            self.keep(embedded, self.first(args, kwargs))

    def rotary(self, name, module, args, kwargs, output):
        kind = kwargs.get("layer_type", args[2] if len(args) > 2 else None)
        tail = f".{kind}" if kind else ""
        self.keep(f"cos{tail}", output[0][:1])
        self.keep(f"sin{tail}", output[1][:1])
        self.keep(f"inv_freq{tail}", getattr(module, f"{kind}_inv_freq" if kind else "inv_freq"))
        factor = getattr(module, f"{kind}_attention_scaling" if kind else "attention_scaling")
        self.keep(f"attention_factor{tail}", torch.tensor([float(factor)], dtype=torch.float64))

    def run(self, **inputs):
        self.found = {}
        with torch.no_grad():
            result = self.model(**inputs, return_dict=True)
        return result, self.found


def make_inputs(family, held):
    """The inputs of the padded case and of the case with a cache, as torch tensors."""
    draw = np.random.default_rng(zlib.crc32(f"inputs/{family.name}/{held}".encode()))
    length, lengths = (13, (5, 13)) if held else (11, (11, 7))
    config = family.config
    tokens = lambda *shape: torch.tensor(draw.integers(3, config.vocab_size - 1, shape))

    if family.kind == "image":
        return dict(pixel_values=torch.tensor(
            draw.standard_normal((2, config.num_channels, config.image_size, config.image_size)), dtype=torch.float32)), None
    if family.kind == "whisper":
        inputs = dict(input_features=torch.tensor(
            draw.standard_normal((2, config.num_mel_bins, 2 * config.max_source_positions)), dtype=torch.float32))
    else:
        mask = torch.tensor([[int(i < n) for i in range(length)] for n in lengths])
        pad = config.pad_token_id if config.pad_token_id is not None else 0
        inputs = dict(input_ids=torch.where(mask == 1, tokens(2, length), pad), attention_mask=mask)
        if family.name == "clip-text":                        # the pooler takes the first end of text
            for row, n in enumerate(lengths):
                inputs["input_ids"][row, n - 1] = config.eos_token_id
    if family.token_types:
        inputs["token_type_ids"] = torch.tensor(draw.integers(0, 2, (2, length)))
    if family.kind in ("seq2seq", "whisper"):
        inputs["decoder_input_ids"] = tokens(2, 9 if not held else 10)
    decode = tokens(2, PREFILL + STEPS + CHUNK) if family.kind not in ("encoder", "image") else None
    return inputs, decode


def evaluate(model, family, inputs, decode):
    """All outputs of a model: the case with padding and the case with a cache."""
    recorder = Recorder(model, family)
    dtype = next(model.parameters()).dtype
    inputs = {k: v.to(dtype) if v.is_floating_point() else v for k, v in inputs.items()}
    cached = decode is not None
    result, outputs = recorder.run(**inputs, **({"use_cache": False} if cached else {}))
    stack = result.get("last_hidden_state", result.get("encoder_last_hidden_state"))
    if stack is not None:
        outputs["encoder.last_hidden_state" if family.cross else "last_hidden_state"] = stack
    for name in ("pooler_output", "logits"):
        if result.get(name) is not None:
            outputs[name] = result[name]
    mask = inputs.get("attention_mask")
    if mask is not None:                                       # rows of padding have no meaning
        for name, tensor in outputs.items():
            ours = not name.startswith("decoder.") and not (family.cross and name == "logits")
            expected = not re.fullmatch(r"(encoder\.)?(layer0\.attention\.input|hidden_states)", name)
            if ours and expected and tensor.dim() >= 3 and not re.match(r"cos|sin|inv_freq|attention_factor", name):
                rows = mask.to(tensor.dtype)
                tensor *= rows[:, None, :, None] if name.endswith("weights") else rows[:, :, None]
    if not cached:
        return outputs

    # The whole sequence at once, then in parts with a cache.
    more = {}
    if family.cross:
        source = {k: v for k, v in inputs.items() if k in ("input_ids", "attention_mask", "input_features")}
        with torch.no_grad():
            more = dict(encoder_outputs=model.get_encoder()(**source, return_dict=True))
        if mask is not None:
            more["attention_mask"] = mask
    ids = "decoder_input_ids" if family.cross else "input_ids"
    whole = recorder.run(**{ids: decode}, **more, use_cache=False)[0].logits
    ends = [PREFILL] + [PREFILL + i + 1 for i in range(STEPS)] + [PREFILL + STEPS + CHUNK]
    names = ["prefill"] + [f"step{i + 1}" for i in range(STEPS)] + ["chunk"]
    cache, begin, worst = None, 0, 0.0
    for name, end in zip(names, ends):
        step, found = recorder.run(**{ids: decode[:, begin:end]}, **more, use_cache=True, past_key_values=cache)
        cache = step.past_key_values
        outputs[f"{name}.logits"] = step.logits
        worst = max(worst, (step.logits - whole[:, begin:end]).abs().max().item())
        for key, tensor in found.items():
            if re.search(r"layer0\..*attention\.(input|output)$", key) and not key.startswith("encoder"):
                outputs[f"{name}.{key}"] = tensor
        begin = end
    own = getattr(cache, "self_attention_cache", cache)
    outputs["decode.layer0.cache.keys"] = own.layers[0].keys
    outputs["decode.layer0.cache.values"] = own.layers[0].values
    outputs["_cache_difference"] = torch.tensor(worst)
    return outputs


def difference(got, wanted):
    """The largest difference over all outputs, relative to the largest magnitude in each tensor."""
    worst, where = 0.0, ""
    for name, tensor in wanted.items():
        if name.startswith("_") or name not in got:            # SDPA has no weights
            continue
        error = (got[name].double() - tensor.double()).abs().max().item() / max(1.0, tensor.abs().max().item())
        if error > worst:
            worst, where = error, name
    return worst, where


def save(path, arrays, metadata):
    """A safetensors file with a sorted header. The safetensors library writes the metadata in a different order every
    time."""
    kinds, header, begin = {"float32": "F32", "float64": "F64", "int64": "I64"}, {}, 0
    # Wide types first, so that all are aligned.
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    for name in names:
        array = arrays[name]
        header[name] = dict(dtype=kinds[str(array.dtype)], shape=array.shape, data_offsets=[begin, begin + array.nbytes])
        begin += array.nbytes
    text = json.dumps({"__metadata__": dict(sorted(metadata.items())), **header}).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(arrays[name].tobytes() for name in names))


def make(family, folder, seed, held):
    folder = folder / family.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model = family.model(family.config).eval()
    fill(model, family, seed)
    model.save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)
    (folder / "generation_config.json").unlink(missing_ok=True)
    config = json.loads((folder / "config.json").read_text())
    config.pop("transformers_version", None)
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    if family.kind == "config":
        (folder / "model.safetensors").unlink()
        return f"{family.name:24} configuration only"

    inputs, decode = make_inputs(family, held)


    def reload(implementation):
        fresh = family.model.from_pretrained(folder, attn_implementation=implementation).eval()
        assert fresh.config._attn_implementation == implementation
        if hasattr(fresh, "set_experts_implementation"):
            fresh.set_experts_implementation("eager")
        return fresh

    # All numbers are computed by new models that are loaded from the two files, to show that the files suffice.
    plain = {"eager": evaluate(reload("eager"), family, inputs, decode)}
    if family.model._supports_sdpa:
        plain["sdpa"] = evaluate(reload("sdpa"), family, inputs, decode)
    with KeepDouble():
        exact = evaluate(reload(family.implementation).double(), family, inputs, decode)
        tables = family.extra(family, model) if family.extra else {}
    differences = {k: difference(v, exact) for k, v in plain.items()}
    cache_difference = exact["_cache_difference"].item() if decode is not None else 0.0

    outputs = {k: v for k, v in exact.items() if not k.startswith("_")}
    outputs.update(tables)
    if decode is not None:
        inputs["decode.decoder_input_ids" if family.cross else "decode.input_ids"] = decode
    arrays = {}
    for name, tensor in {**inputs, **outputs}.items():
        array = tensor.detach().cpu().numpy()
        keep = name.startswith("attention_factor") or array.dtype.kind in "iu"
        arrays[name] = np.ascontiguousarray(array if keep else array.astype(np.float32))
    metadata = {
        "family": family.name, "class": family.model.__name__,
        "made_with": f"transformers {hf.__version__}, torch {torch.__version__.split('+')[0]}, seed {seed}",
        "numbers": "computed in F64, stored as F32; attention_factor is F64, ids and masks I64",
        "notes": family.notes.strip(),
        "float32_differs_by": ", ".join(f"{k} {v[0]:.1e}" for k, v in differences.items()),
    }
    if decode is not None:
        metadata["decode"] = (f"the ids go in pieces through a KV cache: prefill ({PREFILL} tokens), step1 to step{STEPS} (one "
                              f"each), chunk ({CHUNK}); no padding" + (" but the source's" if family.cross else ""))
    for name in arrays:
        meaning = next((text for pattern, text in MEANINGS if re.fullmatch(pattern, name)), None)
        assert meaning, name
        metadata[re.sub(r"layer\d", "layerN", re.sub(r"^(prefill|step\d|chunk)\.", "", name))] = meaning
    save(folder / "cases.safetensors", arrays, metadata)
    for name, array in load_file(folder / "cases.safetensors").items():
        assert np.isfinite(array).all(), name

    size = sum(f.stat().st_size for f in folder.iterdir())
    peak = [v.max(-1).values for k, v in plain["eager"].items() if re.search(r"layer\d\..*weights", k)]
    sharp = f"{np.mean([p[p > 0].mean().item() for p in peak]):.2f}" if peak else "-"
    bad = [k for k, v in differences.items() if v[0] > TOLERANCE and k not in family.known_wrong]
    bad += ["cache"] if cache_difference > 1e-6 else []      # MPT computes its bias in F32: 9e-7, all others 1e-13
    return (f"{family.name:24} {size / 1024:6.0f} KB  {len(arrays):3} tensors  peak {sharp}  "
            + "  ".join(f"{k} {v[0]:.1e}" for k, v in differences.items()) + f"  cache {cache_difference:.1e}"
            + (f"   DIFFERS: {bad} {[differences[b][1] for b in bad if b in differences]}" if bad else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    for family in families(options.held_out):
        if not options.only or family.name in options.only:
            print(make(family, options.folder, options.seed, options.held_out), flush=True)


if __name__ == "__main__":
    main()
