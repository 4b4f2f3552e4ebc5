# SPDX-License-Identifier: Apache-2.0
"""Golden files of whole models with other settings than the models of transformers in data/models have.

    make_model_settings.py            writes data/model_settings
    make_model_settings.py --check    compares the formulas with the results of transformers in data/models

Each folder is as one of data/models: config.json is that of the family's model there with a few settings changed, the
tensors of model.safetensors are the model's, with other sizes and random numbers, and cases.safetensors has inputs and
the results of model_formulas.py in F64. --check shows that these formulas are the models': they must give the hidden
states and logits of every model in data/models, which transformers computed, within 1e-6 of the largest.
"""

import json
import math
import re
import sys
import zlib

import numpy as np

import golden_file
from model_formulas import ALBERT_LAYER, BERT_LAYER, DECODERS, DISTILBERT_LAYER, TRANSFORMERS, evaluate, usual_prefix

MODELS = golden_file.DATA / "models"
OUTPUT = golden_file.DATA / "model_settings"


# ---- the tensors of a model's file, name to shape, as its configuration says -----------------------------------------


class Tensors(dict):
    def linear(self, name, outputs, inputs, bias=True):
        self[name + ".weight"] = (outputs, inputs)
        if bias:
            self[name + ".bias"] = (outputs,)

    def norm(self, name, size, bias=True):
        self[name + ".weight"] = (size,)
        if bias:
            self[name + ".bias"] = (size,)


def of_bert(c):
    t, kind = Tensors(), c["model_type"]
    size = c.get("hidden_size") or c["dim"]
    inner = c.get("intermediate_size") or c["hidden_dim"]
    embedding = c.get("embedding_size", size)
    t["embeddings.word_embeddings.weight"] = (c["vocab_size"], embedding)
    t["embeddings.position_embeddings.weight"] = (c["max_position_embeddings"], embedding)
    if "type_vocab_size" in c:
        t["embeddings.token_type_embeddings.weight"] = (c["type_vocab_size"], embedding)
    t.norm("embeddings.LayerNorm", embedding)
    if kind == "albert":
        t.linear("encoder.embedding_hidden_mapping_in", size, embedding)
        t.linear("pooler", size, size)
    elif embedding != size:
        t.linear("embeddings_project", size, embedding)
    if c["architectures"] == ["BertModel"]:
        t.linear("pooler.dense", size, size)
    layer, names = {"distilbert": ("transformer.layer.{}.", DISTILBERT_LAYER),
                    "albert": ("encoder.albert_layer_groups.0.albert_layers.0.", ALBERT_LAYER)}.get(
                        kind, ("encoder.layer.{}.", BERT_LAYER))
    for i in range(c.get("num_hidden_layers") or c["n_layers"]):
        q, k, v, o, norm_1, up, down, norm_2 = (layer.format(i) + name for name in names)
        for projection in (q, k, v, o):
            t.linear(projection, size, size)
        t.linear(up, inner, size)
        t.linear(down, size, inner)
        t.norm(norm_1, size)
        t.norm(norm_2, size)
    return t


def of_vit(c):
    t, size, inner, patch = Tensors(), c["hidden_size"], c["intermediate_size"], c["patch_size"]
    t["embeddings.cls_token"] = (1, 1, size)
    t["embeddings.patch_embeddings.projection.weight"] = (size, c["num_channels"], patch, patch)
    t["embeddings.patch_embeddings.projection.bias"] = (size,)
    t["embeddings.position_embeddings"] = (1, (c["image_size"] // patch) ** 2 + 1, size)
    for i in range(c["num_hidden_layers"]):
        at = f"encoder.layer.{i}."
        for projection in ("query", "key", "value"):
            t.linear(at + "attention.attention." + projection, size, size, c["qkv_bias"])
        t.linear(at + "attention.output.dense", size, size)
        t.linear(at + "intermediate.dense", inner, size)
        t.linear(at + "output.dense", size, inner)
        t.norm(at + "layernorm_before", size)
        t.norm(at + "layernorm_after", size)
    t.norm("layernorm", size)
    t.linear("pooler.dense", size, size)
    return t


def add_layer_of_bart(t, at, size, inner, norms, biased_keys=True):
    """The parts of a layer that BART, OPT and CLIP share. `norms`: of the attention and of the feed-forward network."""
    for projection in ("q_proj", "k_proj", "v_proj", "out_proj"):
        t.linear(at + "self_attn." + projection, size, size, biased_keys or projection != "k_proj")
    for norm in norms:
        t.norm(at + norm, size)
    inside = at + ("mlp." if "layer_norm1" in norms else "")
    t.linear(inside + "fc1", inner, size)
    t.linear(inside + "fc2", size, inner)


def of_clip_text(c):
    t, size = Tensors(), c["hidden_size"]
    t["embeddings.token_embedding.weight"] = (c["vocab_size"], size)
    t["embeddings.position_embedding.weight"] = (c["max_position_embeddings"], size)
    for i in range(c["num_hidden_layers"]):
        add_layer_of_bart(t, f"encoder.layers.{i}.", size, c["intermediate_size"], ("layer_norm1", "layer_norm2"))
    t.norm("final_layer_norm", size)
    return t


def of_modernbert(c):
    t, size, inner = Tensors(), c["hidden_size"], c["intermediate_size"]
    t["embeddings.tok_embeddings.weight"] = (c["vocab_size"], size)
    t.norm("embeddings.norm", size, c["norm_bias"])
    for i in range(c["num_hidden_layers"]):
        at = f"layers.{i}."
        t.linear(at + "attn.Wqkv", 3 * size, size, c["attention_bias"])
        t.linear(at + "attn.Wo", size, size, c["attention_bias"])
        t.linear(at + "mlp.Wi", 2 * inner, size, c["mlp_bias"])
        t.linear(at + "mlp.Wo", size, inner, c["mlp_bias"])
        if i > 0:
            t.norm(at + "attn_norm", size, c["norm_bias"])
        t.norm(at + "mlp_norm", size, c["norm_bias"])
    t.norm("final_norm", size, c["norm_bias"])
    return t


def of_gpt2(c):
    t, size = Tensors(), c["n_embd"]
    inner = c["n_inner"] or 4 * size
    t["wte.weight"], t["wpe.weight"] = (c["vocab_size"], size), (c["n_positions"], size)
    for i in range(c["n_layer"]):
        at = f"h.{i}."
        for name, inputs, outputs in (("attn.c_attn", size, 3 * size), ("attn.c_proj", size, size),
                                      ("mlp.c_fc", size, inner), ("mlp.c_proj", inner, size)):
            t[f"{at}{name}.weight"], t[f"{at}{name}.bias"] = (inputs, outputs), (outputs,)
        t.norm(at + "ln_1", size)
        t.norm(at + "ln_2", size)
    t.norm("ln_f", size)
    return t


def of_opt(c):
    t, size, projected = Tensors(), c["hidden_size"], c["word_embed_proj_dim"]
    t["embed_tokens.weight"] = (c["vocab_size"], projected)
    t["embed_positions.weight"] = (c["max_position_embeddings"] + 2, size)
    if projected != size:
        t.linear("project_in", size, projected, False)
        t.linear("project_out", projected, size, False)
    for i in range(c["num_hidden_layers"]):
        add_layer_of_bart(t, f"layers.{i}.", size, c["ffn_dim"], ("self_attn_layer_norm", "final_layer_norm"))
    if c["do_layer_norm_before"]:
        t.norm("final_layer_norm", size)
    return t


def of_llama(c):
    t, kind, size, inner = Tensors(), c["model_type"], c["hidden_size"], c["intermediate_size"]
    queries, head = c["num_attention_heads"], c.get("head_dim") or size // c["num_attention_heads"]
    queries, keys = queries * head, c["num_key_value_heads"] * head
    qkv_bias, bias, mlp_bias = c.get("attention_bias") or kind == "qwen2", c.get("attention_bias"), c.get("mlp_bias")
    t["embed_tokens.weight"] = (c["vocab_size"], size)
    for i in range(c["num_hidden_layers"]):
        at = f"layers.{i}."
        if kind == "phi3":
            t.linear(at + "self_attn.qkv_proj", queries + 2 * keys, size, False)
            t.linear(at + "mlp.gate_up_proj", 2 * inner, size, False)
        else:
            for name, outputs in (("q", queries), ("k", keys), ("v", keys)):
                t.linear(f"{at}self_attn.{name}_proj", outputs, size, qkv_bias)
            t.linear(at + "mlp.gate_proj", inner, size, mlp_bias)
            t.linear(at + "mlp.up_proj", inner, size, mlp_bias)
        t.linear(at + "self_attn.o_proj", size, queries, bias)
        t.linear(at + "mlp.down_proj", size, inner, mlp_bias)
        norms = ["input_layernorm", "post_attention_layernorm"]
        if kind in ("gemma2", "gemma3_text"):
            norms += ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
        for norm in norms:
            t.norm(at + norm, size, False)
        if kind in ("qwen3", "gemma3_text"):
            t.norm(at + "self_attn.q_norm", head, False)
            t.norm(at + "self_attn.k_norm", head, False)
    t.norm("norm", size, False)
    return t


def of_bart(c):
    t, kind, size = Tensors(), c["model_type"], c["d_model"]
    is_whisper = kind == "whisper"
    if c.get("share_encoder_decoder_embeddings", True):
        t["decoder.embed_tokens.weight" if is_whisper else "shared.weight"] = (c["vocab_size"], size)
    else:
        t["encoder.embed_tokens.weight"] = (c["vocab_size"], size)
        t["decoder.embed_tokens.weight"] = (c["decoder_vocab_size"], size)
    for side in ("encoder", "decoder"):
        if is_whisper:
            positions = c["max_source_positions" if side == "encoder" else "max_target_positions"]
        else:
            positions = c["max_position_embeddings"] + 2
        if kind != "marian":
            t[side + ".embed_positions.weight"] = (positions, size)
        if kind in ("bart", "mbart"):
            t.norm(side + ".layernorm_embedding", size)
        if kind in ("mbart", "whisper"):
            t.norm(side + ".layer_norm", size)
        for i in range(c[side + "_layers"]):
            at = f"{side}.layers.{i}."
            add_layer_of_bart(t, at, size, c[side + "_ffn_dim"], ("self_attn_layer_norm", "final_layer_norm"),
                              not is_whisper)
            if side == "decoder":
                for projection in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    t.linear(at + "encoder_attn." + projection, size, size, not is_whisper or projection != "k_proj")
                t.norm(at + "encoder_attn_layer_norm", size)
    if is_whisper:
        for module, channels in (("conv1", c["num_mel_bins"]), ("conv2", size)):
            t[f"encoder.{module}.weight"], t[f"encoder.{module}.bias"] = (size, channels, 3), (size,)
    return t


def is_encoder_alone(c):
    return c["architectures"] == ["T5EncoderModel"]


def of_t5(c):
    t, size, inner = Tensors(), c["d_model"], c["d_ff"]
    width = c["num_heads"] * c["d_kv"]
    t["shared.weight"] = (c["vocab_size"], size)
    sides = [("encoder", c["num_layers"]), ("decoder", c["num_decoder_layers"])]
    for side, count in sides[:1] if is_encoder_alone(c) else sides:
        for i in range(count):
            at = f"{side}.block.{i}.layer."
            modules = ["0.SelfAttention"] + (["1.EncDecAttention"] if side == "decoder" else [])
            for module in modules:
                for projection in "qkv":
                    t.linear(f"{at}{module}.{projection}", width, size, False)
                t.linear(f"{at}{module}.o", size, width, False)
            for part in range(len(modules) + 1):
                t.norm(f"{at}{part}.layer_norm", size, False)
            for name in ("wi_0", "wi_1") if c["is_gated_act"] else ("wi",):
                t.linear(f"{at}{len(modules)}.DenseReluDense.{name}", inner, size, False)
            t.linear(f"{at}{len(modules)}.DenseReluDense.wo", size, inner, False)
        table = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        t[table] = (c["relative_attention_num_buckets"], c["num_heads"])
        t.norm(side + ".final_layer_norm", size, False)
    return t


TENSORS = {"clip_text_model": of_clip_text, "gpt2": of_gpt2, "modernbert": of_modernbert, "mt5": of_t5, "opt": of_opt,
           "t5": of_t5, "vit": of_vit}
# The names of the classes with a head, which have the model as a module.
WITH_HEAD = ("ForMaskedLM", "LMHeadModel", "ForCausalLM", "ForConditionalGeneration", "MTModel")


def tensors_of(c):
    kind = c["model_type"]
    make = TENSORS.get(kind) or (of_llama if kind in DECODERS else of_bart if kind in TRANSFORMERS else of_bert)
    prefix = usual_prefix(kind) if c["architectures"][0].endswith(WITH_HEAD) else ""
    t = Tensors({prefix + name: shape for name, shape in make(c).items()})
    ids, size = c["vocab_size"] if "vocab_size" in c else 0, c.get("hidden_size")
    if c["architectures"] == ["RobertaForMaskedLM"]:
        t["lm_head.bias"] = (ids,)
        t.linear("lm_head.dense", size, size)
        t.norm("lm_head.layer_norm", size)
    elif kind in DECODERS or kind in ("t5", "mt5"):
        if not c["tie_word_embeddings"] and not is_encoder_alone(c):
            t["lm_head.weight"] = (ids, size or c["d_model"])
    elif kind in ("bart", "mbart", "marian"):
        t["final_logits_bias"] = (1, c.get("decoder_vocab_size") or ids)
    return t


# ---- other settings --------------------------------------------------------------------------------------------------

HIDDEN, INNER, IDS, POSITIONS = 12, 10, 23, 29

BERT = {"hidden_size": HIDDEN, "num_attention_heads": 3, "intermediate_size": INNER, "vocab_size": IDS,
        "max_position_embeddings": POSITIONS}
LLAMA = dict(BERT, num_key_value_heads=1, head_dim=4)
BART = {"d_model": HIDDEN, "encoder_attention_heads": 3, "decoder_attention_heads": 2, "encoder_ffn_dim": INNER,
        "decoder_ffn_dim": 8, "vocab_size": IDS, "encoder_layers": 1, "max_position_embeddings": POSITIONS}


def rope(kind, theta=10000.0, **more):
    return {"rope_type": kind, "rope_theta": theta, **more}


T5 = {"d_model": HIDDEN, "d_kv": 5, "d_ff": INNER, "num_heads": 3, "num_layers": 1, "num_decoder_layers": 1,
      "vocab_size": IDS, "feed_forward_proj": "gated-gelu", "dense_act_fn": "gelu_new", "is_gated_act": True}
# What config.json lacks of those that make_models.py wrote, in files of older versions of transformers.
OLD_ROPE = {"rope_parameters": None, "dtype": None}


# Folder: the model of data/models, the settings that differ, and how config.json says them, if otherwise: settings of
# older versions of transformers, None for one that it lacks.
SETTINGS = {
    "albert-gelu-new": ("albert", dict(BERT, hidden_act="gelu_new", embedding_size=8, num_hidden_layers=3)),
    "bert-masked-lm": ("bert", dict(BERT, hidden_act="gelu_new", architectures=["BertForMaskedLM"])),
    "bert-gamma-beta": (
        "bert", dict(BERT, architectures=["BertForMaskedLM"]),
        {"add_cross_attention": None, "dtype": None, "gradient_checkpointing": False,
         "position_embedding_type": "absolute", "tie_word_embeddings": None, "transformers_version": "4.6.0.dev0"}),
    "roberta-without-head": ("roberta", dict(BERT, architectures=["RobertaModel"], layer_norm_eps=1e-12,
                                             hidden_act="relu")),
    "electra-without-projection": ("electra", dict(BERT, embedding_size=HIDDEN)),
    "distilbert-masked-lm": ("distilbert", {
        "dim": HIDDEN, "n_heads": 3, "n_layers": 1, "hidden_dim": INNER, "vocab_size": IDS, "sinusoidal_pos_embds": True,
        "max_position_embeddings": POSITIONS, "activation": "relu", "architectures": ["DistilBertForMaskedLM"]}),
    "vit-without-qkv-bias": ("vit", dict(
        hidden_size=HIDDEN, num_attention_heads=2, intermediate_size=INNER, num_channels=1, image_size=15, patch_size=5,
        qkv_bias=False, hidden_act="gelu_new")),
    "clip-text-gelu": ("clip-text", dict(BERT, hidden_act="gelu")),
    "clip-text-prefix": ("clip-text", dict(BERT, num_hidden_layers=1)),
    "modernbert-biases": ("modernbert", dict(
        BERT, local_attention=6, attention_bias=True, mlp_bias=True, norm_bias=True, num_hidden_layers=3,
        layer_types=["full_attention", "sliding_attention", "full_attention"],
        rope_parameters={"full_attention": rope("default", 900.0), "sliding_attention": rope("default", 40.0)})),
    "gpt2-scale-by-layer": ("gpt2", {
        "n_embd": 15, "n_head": 5, "n_inner": 20, "n_layer": 3, "vocab_size": IDS, "n_positions": POSITIONS,
        "activation_function": "relu", "scale_attn_by_inverse_layer_idx": True}),
    "gpt2-buffers": ("gpt2", {
        "n_embd": 12, "n_head": 3, "vocab_size": IDS, "n_positions": POSITIONS, "scale_attn_weights": False,
        "activation_function": "gelu"}),
    "opt-norm-last": ("opt", {
        "hidden_size": HIDDEN, "num_attention_heads": 3, "ffn_dim": INNER, "vocab_size": IDS, "word_embed_proj_dim": 8,
        "max_position_embeddings": POSITIONS, "do_layer_norm_before": False}),
    "opt-projection": ("opt", {
        "hidden_size": HIDDEN, "num_attention_heads": 3, "ffn_dim": INNER, "vocab_size": IDS, "word_embed_proj_dim": 8,
        "max_position_embeddings": POSITIONS, "activation_function": "gelu"}),
    "llama-biases": ("llama", dict(LLAMA, attention_bias=True, mlp_bias=True, tie_word_embeddings=True,
                                   rms_norm_eps=1e-6, rope_parameters=rope("default", 500.0))),
    "llama-yarn-untruncated": ("llama-rope-yarn", dict(LLAMA, head_dim=16, rope_parameters=rope(
        "yarn", 1500.0, factor=8.0, original_max_position_embeddings=300, beta_fast=20.0, beta_slow=2.0,
        truncate=False))),
    "llama-yarn-mscale": ("llama-rope-yarn-factor", dict(LLAMA, head_dim=16, rope_parameters=rope(
        "yarn", factor=4.0, original_max_position_embeddings=512, mscale=0.707, mscale_all_dim=1.3))),
    "mistral-head-size": ("mistral", dict(LLAMA, head_dim=10, sliding_window=3)),
    "qwen2-tied": ("qwen2", dict(LLAMA, tie_word_embeddings=True)),
    "qwen2-bidirectional": ("qwen2", dict(LLAMA, is_causal=False)),
    "qwen3-biases": ("qwen3", dict(LLAMA, head_dim=10, attention_bias=True)),
    "phi3-window": ("phi3", dict(LLAMA, head_dim=6, sliding_window=5,
                                 rope_parameters=rope("default", partial_rotary_factor=0.75))),
    "phi3-longrope-factor": ("phi3-longrope-long", dict(
        LLAMA, head_dim=6, num_hidden_layers=1, rope_parameters=rope(
            "longrope", factor=6.0, original_max_position_embeddings=8, partial_rotary_factor=0.75,
            short_factor=[1.0, 1.37], long_factor=[3.6, 4.38]))),
    "gemma-key-heads": ("gemma", dict(LLAMA, num_key_value_heads=3, head_dim=6)),
    "gemma2-full-first": ("gemma2", dict(
        LLAMA, head_dim=6, query_pre_attn_scalar=7, attn_logit_softcapping=1.5, final_logit_softcapping=8.0,
        sliding_window=5, layer_types=["full_attention", "sliding_attention"])),
    "gemma3-three-layers": ("gemma3", dict(
        LLAMA, head_dim=6, query_pre_attn_scalar=7, sliding_window=5, num_hidden_layers=3,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"], rope_parameters={
            "sliding_attention": rope("default", 300.0), "full_attention": rope("linear", 5000.0, factor=3.0)})),
    "granite-tied": ("granite", dict(
        LLAMA, attention_multiplier=0.3, embedding_multiplier=1.5, residual_multiplier=0.6, logits_scaling=2.0,
        attention_bias=True, tie_word_embeddings=True)),
    "bart-scaled-embedding": ("bart", dict(BART, scale_embedding=True, activation_function="relu")),
    "mbart-plain-embedding": ("mbart", dict(BART, scale_embedding=False)),
    "marian-plain-embedding": ("marian", dict(BART, scale_embedding=False, activation_function="silu",
                                              decoder_vocab_size=IDS)),
    "marian-two-vocabularies": ("marian", dict(BART, decoder_vocab_size=IDS + 4, decoder_start_token_id=IDS + 3,
                                               share_encoder_decoder_embeddings=False)),
    "t5-gated-untied": ("t5", dict(
        T5, relative_attention_num_buckets=12, relative_attention_max_distance=20, num_decoder_layers=2,
        tie_word_embeddings=False, scale_decoder_outputs=False)),
    "t5-encoder-alone": ("t5", dict(T5, architectures=["T5EncoderModel"], tie_word_embeddings=False)),
    "t5-tied-unscaled": ("t5", dict(T5, scale_decoder_outputs=False)),
    "whisper-mels": ("whisper", dict(BART, decoder_layers=1, num_mel_bins=5, max_source_positions=11,
                                     max_target_positions=POSITIONS)),
    "llama-version-4": (
        "llama-rope-llama3", dict(LLAMA, head_dim=4, num_key_value_heads=3, rope_parameters=rope(
            "llama3", 2000.0, factor=3.0, low_freq_factor=1.0, high_freq_factor=4.0,
            original_max_position_embeddings=40)),
        dict(OLD_ROPE, rope_theta=2000.0, head_dim=None, num_key_value_heads=None, rope_scaling={
            "rope_type": "llama3", "factor": 3.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 40})),
    "llama-linear-version-4": (
        "llama-rope-linear", dict(LLAMA, rope_parameters=rope("linear", factor=2.5)),
        dict(OLD_ROPE, rope_scaling={"type": "linear", "factor": 2.5})),
    "phi3-longrope-version-4": (
        "phi3-longrope-long", dict(
            LLAMA, head_dim=6, num_hidden_layers=1, max_position_embeddings=48, rope_parameters=rope(
                "longrope", 3000.0, factor=6.0, original_max_position_embeddings=8, partial_rotary_factor=0.75,
                short_factor=[1.0, 1.37], long_factor=[3.6, 4.38])),
        dict(OLD_ROPE, rope_theta=3000.0, partial_rotary_factor=0.75, original_max_position_embeddings=8, rope_scaling={
            "type": "longrope", "short_factor": [1.0, 1.37], "long_factor": [3.6, 4.38]})),
    "qwen2-version-4": (
        "qwen2", dict(LLAMA, head_dim=4, sliding_window=4, num_hidden_layers=3, use_sliding_window=True,
                      max_window_layers=2, rope_parameters=rope("default", 1e6),
                      layer_types=["full_attention", "full_attention", "sliding_attention"]),
        dict(OLD_ROPE, rope_theta=1e6, layer_types=None, head_dim=None)),
    "gemma2-version-4": (
        "gemma2", dict(LLAMA, head_dim=6, num_hidden_layers=3, sliding_window=3,
                       layer_types=["sliding_attention", "full_attention", "sliding_attention"]),
        dict(OLD_ROPE, rope_theta=10000.0, layer_types=None, tie_word_embeddings=None)),
    "gemma3-version-4": (
        "gemma3", dict(LLAMA, head_dim=6, num_hidden_layers=3, sliding_window=3,
                       layer_types=["sliding_attention", "full_attention", "sliding_attention"], rope_parameters={
                           "sliding_attention": rope("default", 300.0),
                           "full_attention": rope("linear", 5000.0, factor=3.0)}),
        dict(OLD_ROPE, rope_theta=5000.0, rope_local_base_freq=300.0,
             rope_scaling={"rope_type": "linear", "factor": 3.0}, layer_types=None, sliding_window_pattern=2, _sliding_window_pattern=None, tie_word_embeddings=None)),
    "modernbert-version-4": (
        "modernbert", dict(
            BERT, local_attention=6, num_hidden_layers=4, global_attn_every_n_layers=3,
            layer_types=["full_attention", "sliding_attention", "sliding_attention", "full_attention"],
            rope_parameters={"full_attention": rope("default", 900.0), "sliding_attention": rope("default", 40.0)}),
        dict(OLD_ROPE, layer_types=None, global_rope_theta=900.0, local_rope_theta=40.0)),
    "gemma2-defaults": (
        "gemma2", dict(LLAMA, head_dim=6, query_pre_attn_scalar=256, attn_logit_softcapping=50.0,
                       final_logit_softcapping=30.0, sliding_window=4096),
        dict.fromkeys(("query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping", "sliding_window",
                       "rms_norm_eps", "hidden_activation"))),
    "granite-defaults": (
        "granite", dict(LLAMA, attention_multiplier=1.0, embedding_multiplier=1.0, residual_multiplier=1.0,
                        logits_scaling=1.0),
        dict.fromkeys(("attention_multiplier", "embedding_multiplier", "residual_multiplier", "logits_scaling",
                       "rms_norm_eps", "hidden_act", "tie_word_embeddings"))),
    "qwen2-defaults": (
        "qwen2", dict(LLAMA, sliding_window=3, use_sliding_window=True),
        dict.fromkeys(("max_window_layers", "layer_types", "rms_norm_eps", "hidden_act", "tie_word_embeddings"))),
    # transformers 5 says "tie_word_embeddings" of every T5, and ties no head that is in the file.
    "llama-head-beside": ("llama", LLAMA, {"tie_word_embeddings": True}),
    "t5-head-beside": (
        "t5", dict(T5, tie_word_embeddings=False, scale_decoder_outputs=False), {"tie_word_embeddings": True}),
    "mt5-head-beside": (
        "t5", dict(T5, model_type="mt5", architectures=["MT5ForConditionalGeneration"], tie_word_embeddings=False,
                   scale_decoder_outputs=False), {"tie_word_embeddings": True, "scale_decoder_outputs": None}),
    "mt5-version-4": (
        "t5", dict(T5, model_type="mt5", architectures=["MT5ForConditionalGeneration"], tie_word_embeddings=False,
                   scale_decoder_outputs=False),
        {"scale_decoder_outputs": None, "dense_act_fn": None, "is_gated_act": None, "feed_forward_proj": None}),
    "t5-version-4": (
        "t5", dict(T5, relative_attention_num_buckets=8, relative_attention_max_distance=128),
        {"dense_act_fn": None, "is_gated_act": None, "num_decoder_layers": None, "scale_decoder_outputs": None,
         "relative_attention_max_distance": None, "dtype": None}),
}

# Other names of tensors: in files that were converted from TensorFlow, as bert-base-uncased; in gpt2, which lacks the
# model's own module; and in files of models with a head, which have it.
OTHER_NAMES = {
    "albert-gelu-new": {"": "albert."},
    "electra-without-projection": {"": "electra."},
    "modernbert-version-4": {"": "model."},
    "vit-without-qkv-bias": {"": "vit."},
    "clip-text-prefix": {"": "text_model."},
    "bert-gamma-beta": {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"},
    "gpt2-buffers": {"transformer.": ""},
}
# Tensors that transformers does not read: buffers, copies of the embedding, and a bias that T5's first class had.
OTHER_TENSORS = {
    "bart-scaled-embedding": {"model.encoder.version": (1,), "model.decoder.version": (1,)},
    "modernbert-version-4": {"head.dense.weight": (HIDDEN, HIDDEN), "head.norm.weight": (HIDDEN,),
                             "decoder.bias": (IDS,)},
    "opt-projection": {"model.decoder.version": (1,)},
    "vit-without-qkv-bias": {"classifier.weight": (4, HIDDEN), "classifier.bias": (4,)},
    "llama-version-4": {"model.layers.0.self_attn.rotary_emb.inv_freq": (2,),
                        "model.layers.1.self_attn.rotary_emb.inv_freq": (2,)},
    "clip-text-prefix": {"text_model.embeddings.position_ids": (1, POSITIONS)},
    "gpt2-buffers": {"h.0.attn.bias": (1, 1, POSITIONS, POSITIONS), "h.1.attn.bias": (1, 1, POSITIONS, POSITIONS),
                     "h.0.attn.masked_bias": (), "h.1.attn.masked_bias": ()},
    "t5-version-4": {"encoder.embed_tokens.weight": (IDS, HIDDEN), "decoder.embed_tokens.weight": (IDS, HIDDEN),
                     "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight": (8, 3)},
}


def other_name(folder, tensor):
    for name, other in OTHER_NAMES.get(folder, {}).items():
        tensor = tensor.replace(name, other, 1)
    return tensor


# ---- files -----------------------------------------------------------------------------------------------------------


def drawn(name, shape, draw):
    """Random numbers that keep attention far from uniform, and every part of a layer of about the same weight."""
    if len(shape) == 1 and name.endswith(".weight"):
        return 1 + 0.2 * draw.standard_normal(shape)
    if len(shape) == 1 or name == "final_logits_bias":
        return 0.3 * draw.standard_normal(shape)
    if re.search(r"embed|shared|wte|wpe|cls_token|relative_attention_bias", name) and "project" not in name:
        return draw.standard_normal(shape)
    inputs = shape[0] if re.search(r"\.c_\w+\.weight$", name) else math.prod(shape[1:])
    is_of_scores = re.search(r"query|key|[qk]_lin|[qk]_proj|\.[qk]\.|Wqkv|qkv_proj|c_attn", name)
    return draw.standard_normal(shape) * (1.6 if is_of_scores else 1.0) / math.sqrt(inputs)


def inputs_of(c, draw):
    kind = c["model_type"]
    if kind == "vit":
        return {"pixel_values": draw.standard_normal((2, c["num_channels"], c["image_size"], c["image_size"]))}
    inputs, ids = {}, lambda *shape: draw.integers(3, c["vocab_size"], shape)
    if kind == "whisper":
        inputs["input_features"] = draw.standard_normal((2, c["num_mel_bins"], 2 * c["max_source_positions"]))
    else:
        mask = (np.arange(13) < np.array([[5], [13]])).astype(np.int64)
        inputs.update(input_ids=np.where(mask == 1, ids(2, 13), c["pad_token_id"] or 0), attention_mask=mask)
    if c.get("type_vocab_size", 1) > 1:
        inputs["token_type_ids"] = draw.integers(0, 2, (2, 13))
    if kind in DECODERS and c.get("is_causal", True):
        inputs["decode.input_ids"] = ids(2, 16)
    if kind in TRANSFORMERS and not is_encoder_alone(c):
        if c.get("share_encoder_decoder_embeddings") is False:
            ids = lambda *shape: draw.integers(3, c["decoder_vocab_size"], shape)
        inputs.update({"decoder_input_ids": ids(2, 10), "decode.decoder_input_ids": ids(2, 16)})
    return inputs


def write(name):
    family, settings, *written = SETTINGS[name]
    c = dict(json.loads((MODELS / family / "config.json").read_text()), **settings)
    draw = np.random.default_rng(zlib.crc32(name.encode()))
    weights = {tensor: drawn(tensor, shape, draw).astype(np.float32) for tensor, shape in tensors_of(c).items()}
    inputs = {key: v.astype(np.float32) if v.dtype.kind == "f" else v for key, v in inputs_of(c, draw).items()}
    expected = {key: np.float32(value) for key, value in evaluate(c, weights, inputs).items()}
    folder = OUTPUT / name
    folder.mkdir(parents=True, exist_ok=True)
    said_in_file = {key: value for key, value in dict(c, **(written[0] if written else {})).items() if value is not None}
    (folder / "config.json").write_text(json.dumps(said_in_file, indent=2, sort_keys=True) + "\n")
    said = ", ".join(f"{key} = {value}" for key, value in settings.items())
    weights = {other_name(name, tensor): array for tensor, array in weights.items()}
    for tensor, shape in OTHER_TENSORS.get(name, {}).items():
        is_copy = tensor.endswith("embed_tokens.weight")
        weights[tensor] = weights["shared.weight"] if is_copy else np.ones(shape, np.float32)
    made_by = "make_model_settings.py"
    golden_file.write(f"model_settings/{name}/model", weights, f"random weights of {c['architectures'][0]}", said, made_by)
    golden_file.write(f"model_settings/{name}/cases", {**inputs, **expected},
                      "inputs, and the results in F64 of model_formulas.py, stored as F32", said, made_by)
    peaks = [value.max(-1) for key, value in expected.items() if key.endswith("weights")]
    print(f"{name:28} {sum(f.stat().st_size for f in folder.iterdir()) / 1024:4.0f} KB, the largest weight of a row is "
          f"{np.mean([peak[peak > 0].mean() for peak in peaks]):.2f}")


def check(folder):
    """The names and shapes of the file, and the largest difference of a result from that of transformers."""
    c = json.loads((folder / "config.json").read_text())
    weights, cases = golden_file.read(folder / "model.safetensors"), golden_file.read(folder / "cases.safetensors")
    shapes = {name: array.shape for name, array in weights.items()}
    assert tensors_of(c) == shapes, (folder, set(tensors_of(c).items()) ^ set(shapes.items()))
    expected = evaluate(c, weights, cases)
    worst = 0.0
    for name in set(expected) & set(cases):
        difference = abs(expected[name] - cases[name]).max() / abs(cases[name]).max()
        worst = max(worst, difference)
        assert difference <= 1e-6, (folder, name, difference)
    print(f"{folder.name:24} {len(set(expected) & set(cases))} results within {worst:.1e}")


def main():
    if sys.argv[1:] == ["--check"]:
        for family in sorted({family for family, *_ in SETTINGS.values()} | {"phi3-longrope-short"}):
            check(MODELS / family)
    else:
        for name in SETTINGS:
            write(name)


if __name__ == "__main__":
    main()
