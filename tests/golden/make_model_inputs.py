# SPDX-License-Identifier: Apache-2.0
"""Golden files of two texts and the logits of each alone, which a model must give however a call says what counts of them.

    make_model_inputs.py      writes data/model_inputs

A GPT-2 and a Llama, whose heads are the tables of their embeddings. Each folder is as one of data/model_settings, but for
cases.safetensors: LONG and SHORT are two texts, and the logits are those of model_formulas.py, stored as F64. Of the Llama there are
also the logits of LONG with each of other settings, by their names and values.
"""

import json
import re

import numpy as np

import golden_file
from make_model_settings import MODELS, rope, tensors_of
from model_formulas import DECODERS, Model, usual_prefix

OUTPUT = golden_file.DATA / "model_inputs"
LONG, SHORT = [3, 7, 11, 2, 19, 5, 23], [9, 4, 17, 6]
IDS, HIDDEN, INNER = 29, 16, 24
# Folder: the model of data/models, the seed of its weights, the settings that differ and how config.json says them, if otherwise.
FOLDERS = {
    "gpt2-tied": ("gpt2", 1, {"vocab_size": IDS, "n_embd": HIDDEN, "n_head": 2, "n_inner": INNER,
                              "activation_function": "relu"}, {}),
    "llama-tied": ("llama", 2, {"vocab_size": IDS, "hidden_size": HIDDEN, "intermediate_size": INNER,
                                "num_attention_heads": 2, "num_key_value_heads": 2, "tie_word_embeddings": True,
                                "rope_parameters": rope("default", 700.0)},
                   {"rope_parameters": None, "rope_theta": 700.0}),
}
# What the Llama's configuration class takes where a file does not say it, and a value that is no default.
OTHER_SETTINGS = {"rope_theta.10000": {"rope_parameters": rope("default", 10000.0)}, "rms_norm_eps.1e-6": {"rms_norm_eps": 1e-6},
                  "rms_norm_eps.0.5": {"rms_norm_eps": 0.5}}
# The modules in the order in which their weights are drawn: those of the whole model, then those of each layer.
MODULES = ("wte", "wpe", "ln_f", "ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj", "embed_tokens", "norm",
           "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "input_layernorm",
           "post_attention_layernorm")


def place(tensor):
    layer = re.search(r"\.(\d+)\.", tensor)
    module = next(i for i, name in enumerate(MODULES) if f".{name}." in tensor)
    return int(layer[1]) if layer else -1, module


def logits(c, weights, ids):
    ids = np.array([ids])
    return DECODERS[c["model_type"]](Model(c, weights, usual_prefix(c["model_type"])), ids, np.ones_like(ids))


def write(name):
    family, seed, settings, written = FOLDERS[name]
    c = dict(json.loads((MODELS / family / "config.json").read_text()), **settings)
    draw = np.random.default_rng(seed)
    shapes = tensors_of(c)
    weights = {tensor: draw.normal(0, 0.5, shapes[tensor]).astype(np.float32) for tensor in sorted(shapes, key=place)}
    cases = {}
    for text, ids in (("long", LONG), ("short", SHORT)):
        cases |= {text + ".input_ids": np.array([ids]), text + ".logits": logits(c, weights, ids)}
    usual = cases["long.logits"]
    largest = abs(usual).max()
    for setting, changed in OTHER_SETTINGS.items() if family == "llama" else ():
        cases[setting + ".logits"] = logits(dict(c, **changed), weights, LONG)
        difference = abs(cases[setting + ".logits"] - usual).max() / largest
        # More than twice what expect_numbers_of_model allows: no result is right by both.
        assert difference > 2e-5, (setting, difference)
        print(f"{name}: {setting} changes logits by up to {difference:.1e} of the largest")
    folder = OUTPUT / name
    folder.mkdir(parents=True, exist_ok=True)
    said_in_file = {key: value for key, value in dict(c, **written).items() if value is not None}
    (folder / "config.json").write_text(json.dumps(said_in_file, indent=2, sort_keys=True) + "\n")
    said, made_by = ", ".join(f"{key} = {value}" for key, value in settings.items()), "make_model_inputs.py"
    golden_file.write(f"model_inputs/{name}/model", weights, f"random weights of {c['architectures'][0]}", said, made_by)
    golden_file.write(f"model_inputs/{name}/cases", cases, "two texts, and the logits of each alone by model_formulas.py in F64",
                      said, made_by)
    print(f"{name}: {sum(f.stat().st_size for f in folder.iterdir()) / 1024:.0f} KB, logits up to {largest:.1f}")


if __name__ == "__main__":
    for folder_name in FOLDERS:
        write(folder_name)
