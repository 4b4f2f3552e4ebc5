# SPDX-License-Identifier: Apache-2.0
"""Whole models in NumPy and F64: hidden states and logits from the tensors of a file of Hugging Face's transformers and
its config.json. The formulas are those of the models' papers and of the classes of transformers 5, and share nothing with
heed. make_model_settings.py --check compares them with the results of transformers in data/models.
"""

import math

import numpy as np

ACTIVATIONS = {
    "gelu": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "gelu_new": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "quick_gelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
}
ACTIVATIONS["gelu_pytorch_tanh"] = ACTIVATIONS["gelu_new"]


class Model:
    """`weights`: name to array. `prefix`: what the names of all modules begin with in the file of this model."""

    def __init__(self, config, weights, prefix=""):
        self.c, self.w, self.prefix = config, {k: np.asarray(v, np.float64) for k, v in weights.items()}, prefix
        self.attention_weights = []

    def has(self, name):
        return self.prefix + name in self.w

    def get(self, name):
        return self.w[self.prefix + name]

    def bias(self, module):
        return self.get(module + ".bias") if self.has(module + ".bias") else 0.0

    def linear(self, x, module):
        return x @ self.get(module + ".weight").T + self.bias(module)

    def layer_norm(self, x, module, epsilon):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * self.get(module + ".weight") + self.bias(module)

    def rms_norm(self, x, module, epsilon, offset=0.0):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * (self.get(module + ".weight") + offset)

    def attend(self, q, k, v, visible, scale=None, bias=0.0, soft_cap=None):
        """q (B, H, Q, D), k and v (B, H_kv, K, D); `visible` and `bias` are broadcast to the scores. Returns (B, Q, H D)."""
        group = q.shape[1] // k.shape[1]
        k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
        scores = q @ k.swapaxes(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
        if soft_cap:
            scores = soft_cap * np.tanh(scores / soft_cap)
        scores = np.where(visible, scores + bias, -1e30)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        self.attention_weights.append(weights)
        return (weights @ v).swapaxes(1, 2).reshape(q.shape[0], q.shape[2], -1)


def heads(x, count):
    return x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2)


def of_keys(mask):
    return mask[:, None, None, :] == 1


def causal(size):
    return np.tril(np.ones((size, size), bool))


def distances(size):
    """query - key."""
    return np.arange(size)[:, None] - np.arange(size)


# ---- rotary positions ------------------------------------------------------------------------------------------------


def frequencies(rope, size, most_positions, length):
    """The frequencies of `size` rotated columns, and the factor of cos and sin, by a config's rope_parameters."""
    base, kind = rope["rope_theta"], rope["rope_type"]
    theta = base ** (-np.arange(0, size, 2) / size)
    factor = rope.get("factor") or 1.0
    original = rope.get("original_max_position_embeddings") or most_positions
    if kind == "linear":
        return theta / factor, 1.0
    if kind == "llama3":
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        kept = np.clip((original * theta / (2 * math.pi) - low) / (high - low), 0, 1)
        return theta * (kept + (1 - kept) / factor), 1.0
    if kind == "yarn":
        def column(rotations):
            return size * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(base))

        begin, end = column(rope.get("beta_fast") or 32), column(rope.get("beta_slow") or 1)
        if rope.get("truncate", True):
            begin, end = math.floor(begin), math.ceil(end)
        begin, end = max(begin, 0), min(end, size - 1)
        ramp = np.clip((np.arange(size // 2) - begin) / (end - begin if end > begin else 0.001), 0, 1)
        attention = rope.get("attention_factor")
        if attention is None:
            def grown(scale):
                return 0.1 * scale * math.log(factor) + 1 if factor > 1 else 1.0

            both = rope.get("mscale") and rope.get("mscale_all_dim")
            attention = grown(rope["mscale"]) / grown(rope["mscale_all_dim"]) if both else grown(1)
        return theta * (1 - ramp + ramp / factor), attention
    if kind == "longrope":
        list_of_factors = rope["long_factor" if length > original else "short_factor"]
        return theta / np.array(list_of_factors), math.sqrt(1 + math.log(factor) / math.log(original))
    return theta, 1.0


def rotated(x, rope, most_positions):
    """x (B, H, S, D): pairs (i, i + r / 2) of the first r columns are rotated."""
    size = int(x.shape[-1] * rope.get("partial_rotary_factor", 1.0))
    theta, factor = frequencies(rope, size, most_positions, x.shape[2])
    angles = np.arange(x.shape[2])[:, None] * theta
    cos, sin = np.cos(angles) * factor, np.sin(angles) * factor
    a, b, rest = x[..., : size // 2], x[..., size // 2 : size], x[..., size:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin, rest], -1)


# ---- encoders --------------------------------------------------------------------------------------------------------

# In a layer: queries, keys, values, output, norm behind the attention, feed-forward's two, norm behind it.
BERT_LAYER = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
              "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm")
DISTILBERT_LAYER = ("attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin", "sa_layer_norm",
                    "ffn.lin1", "ffn.lin2", "output_layer_norm")
ALBERT_LAYER = ("attention.query", "attention.key", "attention.value", "attention.dense", "attention.LayerNorm", "ffn",
                "ffn_output", "full_layer_layer_norm")


def bert(m, input_ids, attention_mask, token_type_ids=None):
    c, kind = m.c, m.c["model_type"]
    first = c["pad_token_id"] + 1 if kind == "roberta" else 0
    epsilon = c.get("layer_norm_eps", 1e-12)
    x = m.get("embeddings.word_embeddings.weight")[input_ids]
    x = x + m.get("embeddings.position_embeddings.weight")[first : first + x.shape[1]]
    if m.has("embeddings.token_type_embeddings.weight"):
        types = np.zeros_like(input_ids) if token_type_ids is None else token_type_ids
        x = x + m.get("embeddings.token_type_embeddings.weight")[types]
    x = m.layer_norm(x, "embeddings.LayerNorm", epsilon)
    for projection in ("embeddings_project", "encoder.embedding_hidden_mapping_in"):
        if m.has(projection + ".weight"):
            x = m.linear(x, projection)
    layer, names = {"distilbert": ("transformer.layer.{}.", DISTILBERT_LAYER),
                    "albert": ("encoder.albert_layer_groups.0.albert_layers.0.", ALBERT_LAYER)}.get(
                        kind, ("encoder.layer.{}.", BERT_LAYER))
    activation = ACTIVATIONS[c.get("hidden_act") or c["activation"]]
    num_heads = c.get("num_attention_heads") or c["n_heads"]
    for i in range(c.get("num_hidden_layers") or c["n_layers"]):
        q, k, v, o, norm_1, up, down, norm_2 = (layer.format(i) + name for name in names)
        a = m.attend(*(heads(m.linear(x, p), num_heads) for p in (q, k, v)), of_keys(attention_mask))
        x = m.layer_norm(x + m.linear(a, o), norm_1, epsilon)
        x = m.layer_norm(x + m.linear(activation(m.linear(x, up)), down), norm_2, epsilon)
    return x


def vit(m, pixel_values):
    c = m.c
    kernel = m.get("embeddings.patch_embeddings.projection.weight")
    batch, channels, height, width = pixel_values.shape
    size = c["patch_size"]
    patches = pixel_values.reshape(batch, channels, height // size, size, width // size, size)
    patches = patches.transpose(0, 2, 4, 1, 3, 5).reshape(batch, -1, channels * size * size)
    x = patches @ kernel.reshape(len(kernel), -1).T + m.bias("embeddings.patch_embeddings.projection")
    first = np.broadcast_to(m.get("embeddings.cls_token"), (batch, 1, x.shape[2]))
    x = np.concatenate([first, x], 1) + m.get("embeddings.position_embeddings")
    for i in range(c["num_hidden_layers"]):
        at = f"encoder.layer.{i}."
        h = m.layer_norm(x, at + "layernorm_before", c["layer_norm_eps"])
        q, k, v = (heads(m.linear(h, at + "attention.attention." + p), c["num_attention_heads"])
                   for p in ("query", "key", "value"))
        x = x + m.linear(m.attend(q, k, v, True), at + "attention.output.dense")
        h = m.layer_norm(x, at + "layernorm_after", c["layer_norm_eps"])
        h = ACTIVATIONS[c["hidden_act"]](m.linear(h, at + "intermediate.dense"))
        x = x + m.linear(h, at + "output.dense")
    return m.layer_norm(x, "layernorm", c["layer_norm_eps"])


def clip_text(m, input_ids, attention_mask):
    c = m.c
    x = m.get("embeddings.token_embedding.weight")[input_ids]
    x = x + m.get("embeddings.position_embedding.weight")[: x.shape[1]]
    visible = of_keys(attention_mask) & causal(x.shape[1])
    for i in range(c["num_hidden_layers"]):
        at = f"encoder.layers.{i}."
        h = m.layer_norm(x, at + "layer_norm1", c["layer_norm_eps"])
        q, k, v = (heads(m.linear(h, f"{at}self_attn.{p}_proj"), c["num_attention_heads"]) for p in "qkv")
        x = x + m.linear(m.attend(q, k, v, visible), at + "self_attn.out_proj")
        h = m.layer_norm(x, at + "layer_norm2", c["layer_norm_eps"])
        x = x + m.linear(ACTIVATIONS[c["hidden_act"]](m.linear(h, at + "mlp.fc1")), at + "mlp.fc2")
    return m.layer_norm(x, "final_layer_norm", c["layer_norm_eps"])


def modernbert(m, input_ids, attention_mask):
    c = m.c
    epsilon = c["norm_eps"]
    x = m.layer_norm(m.get("embeddings.tok_embeddings.weight")[input_ids], "embeddings.norm", epsilon)
    for i in range(c["num_hidden_layers"]):
        at = f"layers.{i}."
        h = m.layer_norm(x, at + "attn_norm", epsilon) if i > 0 else x
        q, k, v = (heads(p, c["num_attention_heads"]) for p in np.split(m.linear(h, at + "attn.Wqkv"), 3, -1))
        kind = c["layer_types"][i]
        rope = c["rope_parameters"][kind]
        q, k = rotated(q, rope, None), rotated(k, rope, None)
        visible = of_keys(attention_mask)
        if kind == "sliding_attention":
            visible = visible & (abs(distances(x.shape[1])) <= c["local_attention"] // 2)
        x = x + m.linear(m.attend(q, k, v, visible), at + "attn.Wo")
        value, gate = np.split(m.linear(m.layer_norm(x, at + "mlp_norm", epsilon), at + "mlp.Wi"), 2, -1)
        x = x + m.linear(ACTIVATIONS[c["hidden_activation"]](value) * gate, at + "mlp.Wo")
    return m.layer_norm(x, "final_norm", epsilon)


# ---- decoders: logits ------------------------------------------------------------------------------------------------


def gpt2(m, input_ids, attention_mask):
    c = m.c
    epsilon = c["layer_norm_epsilon"]

    def conv1d(x, module):
        return x @ m.get(module + ".weight") + m.bias(module)

    x = m.get("wte.weight")[input_ids] + m.get("wpe.weight")[: input_ids.shape[1]]
    visible = of_keys(attention_mask) & causal(x.shape[1])
    for i in range(c["n_layer"]):
        at = f"h.{i}."
        packed = conv1d(m.layer_norm(x, at + "ln_1", epsilon), at + "attn.c_attn")
        q, k, v = (heads(p, c["n_head"]) for p in np.split(packed, 3, -1))
        scale = (q.shape[-1] ** -0.5 if c["scale_attn_weights"] else 1.0) / (
            i + 1 if c["scale_attn_by_inverse_layer_idx"] else 1)
        x = x + conv1d(m.attend(q, k, v, visible, scale), at + "attn.c_proj")
        h = ACTIVATIONS[c["activation_function"]](conv1d(m.layer_norm(x, at + "ln_2", epsilon), at + "mlp.c_fc"))
        x = x + conv1d(h, at + "mlp.c_proj")
    return m.layer_norm(x, "ln_f", epsilon) @ m.get("wte.weight").T


def opt(m, input_ids, attention_mask):
    c = m.c
    x = m.get("embed_tokens.weight")[input_ids]
    if m.has("project_in.weight"):
        x = m.linear(x, "project_in")
    x = x + m.get("embed_positions.weight")[2 : 2 + x.shape[1]]
    visible = of_keys(attention_mask) & causal(x.shape[1])
    is_first = c["do_layer_norm_before"]

    def part(x, norm, function):
        y = m.layer_norm(x, norm, 1e-5) if is_first else x
        x = x + function(y)
        return x if is_first else m.layer_norm(x, norm, 1e-5)

    for i in range(c["num_hidden_layers"]):
        at = f"layers.{i}."

        def attention(y, at=at):
            q, k, v = (heads(m.linear(y, f"{at}self_attn.{p}_proj"), c["num_attention_heads"]) for p in "qkv")
            return m.linear(m.attend(q, k, v, visible), at + "self_attn.out_proj")

        def feed_forward(y, at=at):
            return m.linear(ACTIVATIONS[c["activation_function"]](m.linear(y, at + "fc1")), at + "fc2")

        x = part(x, at + "self_attn_layer_norm", attention)
        x = part(x, at + "final_layer_norm", feed_forward)
    if is_first:
        x = m.layer_norm(x, "final_layer_norm", 1e-5)
    if m.has("project_out.weight"):
        x = m.linear(x, "project_out")
    return x @ m.get("embed_tokens.weight").T


def llama(m, input_ids, attention_mask):
    """Llama, Mistral, Qwen2, Qwen3, Gemma 1 to 3, Phi-3 and Granite."""
    c, kind = m.c, m.c["model_type"]
    is_gemma = kind.startswith("gemma")
    epsilon, offset = c["rms_norm_eps"], float(is_gemma)
    num_heads, num_kv_heads = c["num_attention_heads"], c["num_key_value_heads"]
    size = c.get("head_dim") or c["hidden_size"] // num_heads
    table = m.get("embed_tokens.weight")
    x = table[input_ids] * (math.sqrt(c["hidden_size"]) if is_gemma else c.get("embedding_multiplier", 1.0))
    keep = c.get("residual_multiplier", 1.0)
    length = x.shape[1]
    activation = ACTIVATIONS[c.get("hidden_activation") or c["hidden_act"] if is_gemma else c["hidden_act"]]
    for i in range(c["num_hidden_layers"]):
        at = f"layers.{i}."
        h = m.rms_norm(x, at + "input_layernorm", epsilon, offset)
        if kind == "phi3":
            packed = m.linear(h, at + "self_attn.qkv_proj")
            q, k, v = np.split(packed, [num_heads * size, (num_heads + num_kv_heads) * size], -1)
        else:
            q, k, v = (m.linear(h, f"{at}self_attn.{p}_proj") for p in "qkv")
        q, k, v = heads(q, num_heads), heads(k, num_kv_heads), heads(v, num_kv_heads)
        if kind in ("qwen3", "gemma3_text"):
            q = m.rms_norm(q, at + "self_attn.q_norm", epsilon, offset)
            k = m.rms_norm(k, at + "self_attn.k_norm", epsilon, offset)
        layer_type = c["layer_types"][i] if c.get("layer_types") else None
        rope = c["rope_parameters"].get(layer_type, c["rope_parameters"])
        q, k = (rotated(p, rope, c["max_position_embeddings"]) for p in (q, k))
        visible = of_keys(attention_mask) & (causal(length) if c.get("is_causal", True) else True)
        window = c.get("sliding_window")
        if window and (layer_type == "sliding_attention" or kind in ("mistral", "phi3")):
            visible = visible & (distances(length) < window)
        scale = c.get("attention_multiplier")
        if kind in ("gemma2", "gemma3_text"):
            scale = c["query_pre_attn_scalar"] ** -0.5
        a = m.attend(q, k, v, visible, scale, soft_cap=c.get("attn_logit_softcapping"))
        a = m.linear(a, at + "self_attn.o_proj")
        has_four_norms = kind in ("gemma2", "gemma3_text")
        if has_four_norms:
            a = m.rms_norm(a, at + "post_attention_layernorm", epsilon, offset)
        x = x + keep * a
        norm = "pre_feedforward_layernorm" if has_four_norms else "post_attention_layernorm"
        h = m.rms_norm(x, at + norm, epsilon, offset)
        if kind == "phi3":
            gate, up = np.split(m.linear(h, at + "mlp.gate_up_proj"), 2, -1)
        else:
            gate, up = m.linear(h, at + "mlp.gate_proj"), m.linear(h, at + "mlp.up_proj")
        h = m.linear(activation(gate) * up, at + "mlp.down_proj")
        if has_four_norms:
            h = m.rms_norm(h, at + "post_feedforward_layernorm", epsilon, offset)
        x = x + keep * h
    x = m.rms_norm(x, "norm", epsilon, offset)
    head = m.w.get("lm_head.weight", table)
    logits = x @ head.T / c.get("logits_scaling", 1.0)
    cap = c.get("final_logit_softcapping")
    return cap * np.tanh(logits / cap) if cap else logits


# ---- encoders with decoders: the encoder's hidden states and the logits ----------------------------------------------


class Bart:
    """BART, MBart, Marian and Whisper: the first and the third have their norms behind each part."""

    def __init__(self, m):
        self.m, self.kind = m, m.c["model_type"]
        self.is_first = self.kind in ("mbart", "whisper")
        self.activation = ACTIVATIONS[m.c["activation_function"]]
        apart = self.kind == "whisper" or not m.c.get("share_encoder_decoder_embeddings", True)
        names = {side: f"{side}.embed_tokens.weight" if apart else "shared.weight" for side in ("encoder", "decoder")}
        self.tables = {side: m.get(name) for side, name in names.items() if self.kind != "whisper" or side == "decoder"}

    def part(self, x, norm, function):
        y = self.m.layer_norm(x, norm, 1e-5) if self.is_first else x
        x = x + function(y)
        return x if self.is_first else self.m.layer_norm(x, norm, 1e-5)

    def attention(self, x, memory, module, num_heads, visible):
        m = self.m
        q = heads(m.linear(x, module + ".q_proj"), num_heads)
        k, v = (heads(m.linear(memory, f"{module}.{p}_proj"), num_heads) for p in "kv")
        return m.linear(m.attend(q, k, v, visible), module + ".out_proj")

    def feed_forward(self, x, at):
        return self.m.linear(self.activation(self.m.linear(x, at + "fc1")), at + "fc2")

    def embedded(self, ids, side):
        m, table = self.m, self.tables[side]
        size = table.shape[1]
        x = table[ids] * (math.sqrt(size) if m.c["scale_embedding"] else 1.0)
        if self.kind == "marian":
            angles = np.arange(x.shape[1])[:, None] / 10000.0 ** (np.arange(0, size, 2) / size)
            return x + np.concatenate([np.sin(angles), np.cos(angles)], 1)
        first = 0 if self.kind == "whisper" else 2
        x = x + m.get(side + ".embed_positions.weight")[first : first + x.shape[1]]
        return x if self.kind == "whisper" else m.layer_norm(x, side + ".layernorm_embedding", 1e-5)

    def convolved(self, features):
        """Two convolutions of width 3 with gelu between and behind them, the second of stride 2, and positions."""
        x = features
        for module, stride in (("encoder.conv1", 1), ("encoder.conv2", 2)):
            kernel = self.m.get(module + ".weight")
            x = np.pad(x, ((0, 0), (0, 0), (1, 1)))
            frames = range(0, x.shape[2] - 2, stride)
            x = np.stack([np.einsum("bck,eck->be", x[:, :, f : f + 3], kernel) for f in frames], 2)
            x = ACTIVATIONS["gelu"](x + self.m.bias(module)[:, None])
        x = x.swapaxes(1, 2)
        return x + self.m.get("encoder.embed_positions.weight")[: x.shape[1]]

    def encoder(self, source, mask):
        m, c = self.m, self.m.c
        x = self.convolved(source) if self.kind == "whisper" else self.embedded(source, "encoder")
        for i in range(c["encoder_layers"]):
            at = f"encoder.layers.{i}."
            x = self.part(x, at + "self_attn_layer_norm", lambda y, at=at: self.attention(
                y, y, at + "self_attn", c["encoder_attention_heads"], True if mask is None else of_keys(mask)))
            x = self.part(x, at + "final_layer_norm", lambda y, at=at: self.feed_forward(y, at))
        return m.layer_norm(x, "encoder.layer_norm", 1e-5) if self.is_first else x

    def logits(self, ids, memory, mask):
        m, c = self.m, self.m.c
        x = self.embedded(ids, "decoder")
        count = c["decoder_attention_heads"]
        for i in range(c["decoder_layers"]):
            at = f"decoder.layers.{i}."
            x = self.part(x, at + "self_attn_layer_norm", lambda y, at=at: self.attention(
                y, y, at + "self_attn", count, causal(y.shape[1])))
            x = self.part(x, at + "encoder_attn_layer_norm", lambda y, at=at: self.attention(
                y, memory, at + "encoder_attn", count, True if mask is None else of_keys(mask)))
            x = self.part(x, at + "final_layer_norm", lambda y, at=at: self.feed_forward(y, at))
        if self.is_first:
            x = m.layer_norm(x, "decoder.layer_norm", 1e-5)
        return x @ self.tables["decoder"].T + m.w.get("final_logits_bias", 0.0)


class T5:
    def __init__(self, m):
        self.m, self.epsilon = m, m.c["layer_norm_epsilon"]

    def attention(self, x, memory, module, visible, bias):
        m = self.m
        q = heads(m.linear(x, module + ".q"), m.c["num_heads"])
        k, v = (heads(m.linear(memory, f"{module}.{p}"), m.c["num_heads"]) for p in "kv")
        return m.linear(m.attend(q, k, v, visible, 1.0, bias), module + ".o")

    def relative_bias(self, side, size):
        c = self.m.c
        table = self.m.get(f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight")
        count, most = c["relative_attention_num_buckets"], c["relative_attention_max_distance"]

        def bucket(distance):  # key - query
            first, num = 0, count
            if side == "encoder":
                num //= 2
                first, distance = (num if distance > 0 else 0), abs(distance)
            else:
                distance = max(-distance, 0)
            exact = num // 2
            if distance < exact:
                return first + distance
            others = num - exact
            far = max(n for n in range(others) if distance**others >= most**n * exact ** (others - n))
            return first + exact + far

        buckets = [[bucket(key - query) for key in range(size)] for query in range(size)]
        return table[np.array(buckets)].transpose(2, 0, 1)[None]

    def feed_forward(self, x, module):
        m = self.m
        activation = ACTIVATIONS[m.c["dense_act_fn"]]
        if m.c["is_gated_act"]:
            return m.linear(activation(m.linear(x, module + ".wi_0")) * m.linear(x, module + ".wi_1"), module + ".wo")
        return m.linear(activation(m.linear(x, module + ".wi")), module + ".wo")

    def stack(self, ids, side, count, visible, memory=None, memory_visible=None):
        m = self.m
        x = m.get("shared.weight")[ids]
        bias = self.relative_bias(side, x.shape[1])
        for i in range(count):
            at = f"{side}.block.{i}.layer."
            y = m.rms_norm(x, at + "0.layer_norm", self.epsilon)
            x = x + self.attention(y, y, at + "0.SelfAttention", visible, bias)
            if memory is not None:
                y = m.rms_norm(x, at + "1.layer_norm", self.epsilon)
                x = x + self.attention(y, memory, at + "1.EncDecAttention", memory_visible, 0.0)
            last = 1 if memory is None else 2
            y = m.rms_norm(x, f"{at}{last}.layer_norm", self.epsilon)
            x = x + self.feed_forward(y, f"{at}{last}.DenseReluDense")
        return m.rms_norm(x, side + ".final_layer_norm", self.epsilon)

    def encoder(self, source, mask):
        return self.stack(source, "encoder", self.m.c["num_layers"], of_keys(mask))

    def logits(self, ids, memory, mask):
        c = self.m.c
        x = self.stack(ids, "decoder", c["num_decoder_layers"], causal(ids.shape[1]), memory, of_keys(mask))
        head = self.m.w.get("lm_head.weight", self.m.w["shared.weight"])
        return (x * c["d_model"] ** -0.5 if c["scale_decoder_outputs"] else x) @ head.T


ENCODERS = {"clip_text_model": clip_text, "modernbert": modernbert}
ENCODERS.update(dict.fromkeys(("albert", "bert", "distilbert", "electra", "roberta"), bert))
DECODERS = {"gpt2": gpt2, "opt": opt}
DECODERS.update(dict.fromkeys(
    ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3", "granite"), llama))
TRANSFORMERS = {"bart": Bart, "mbart": Bart, "marian": Bart, "whisper": Bart, "t5": T5, "mt5": T5}
# What the names of the model's modules begin with in the file of a model with a head.
PREFIXES = {"gpt2": "transformer.", "opt": "model.decoder.", "t5": "", "mt5": ""}


def usual_prefix(kind):
    return PREFIXES.get(kind, "model." if kind in DECODERS or kind in TRANSFORMERS else kind + ".")


def prefix_of(config, names):
    usual = usual_prefix(config["model_type"])
    return usual if any(name.startswith(usual) for name in names) else ""


def evaluate(config, weights, inputs):
    """The expected tensors of cases.safetensors, under make_models.py's names, but for those of single parts."""
    kind = config["model_type"]
    expected = {}
    mask = inputs.get("attention_mask")

    def model():
        return Model(config, weights, prefix_of(config, weights))

    def keep_weights(m, names):
        for name, value in zip(names, m.attention_weights):
            rows = 1 if mask is None or name.startswith("decoder.") else mask[:, None, :, None]
            expected[name] = value * rows

    of_layers = [f"layer{i}.attention.weights" for i in range(2)]
    if kind == "vit":
        m = model()
        expected["last_hidden_state"] = vit(m, inputs["pixel_values"])
        keep_weights(m, of_layers)
    elif kind in ENCODERS:
        m = model()
        given = [inputs["input_ids"], mask] + ([inputs["token_type_ids"]] if "token_type_ids" in inputs else [])
        expected["last_hidden_state"] = ENCODERS[kind](m, *given) * mask[:, :, None]
        keep_weights(m, of_layers)
    elif kind in DECODERS:
        m = model()
        expected["logits"] = DECODERS[kind](m, inputs["input_ids"], mask) * mask[:, :, None]
        keep_weights(m, of_layers)
        if "decode.input_ids" in inputs:
            ids = inputs["decode.input_ids"]
            expected.update(pieces(DECODERS[kind](model(), ids, np.ones_like(ids))))
    elif config["architectures"] == ["T5EncoderModel"]:
        m = model()
        expected["last_hidden_state"] = T5(m).encoder(inputs["input_ids"], mask) * mask[:, :, None]
        keep_weights(m, of_layers)
    else:
        m = model()
        transformer = TRANSFORMERS[kind](m)
        source = inputs["input_features" if kind == "whisper" else "input_ids"]
        memory = transformer.encoder(source, mask)
        keep_weights(m, ["encoder.layer0.attention.weights"])
        m.attention_weights.clear()
        expected["logits"] = transformer.logits(inputs["decoder_input_ids"], memory, mask)
        keep_weights(m, ["decoder.layer0.self_attention.weights", "decoder.layer0.cross_attention.weights"])
        expected.update(pieces(transformer.logits(inputs["decode.decoder_input_ids"], memory, mask)))
        expected["encoder.last_hidden_state"] = memory * (1 if mask is None else mask[:, :, None])
    return expected


def pieces(whole):
    """The logits of a sequence's parts, each given to a model with a cache of those before it."""
    ends = {"prefill": 9, "step1": 10, "step2": 11, "step3": 12, "chunk": 16}
    begins = [0, *ends.values()]
    return {f"{name}.logits": whole[:, begin:end] for begin, (name, end) in zip(begins, ends.items())}
