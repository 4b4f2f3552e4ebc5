/* SPDX-License-Identifier: Apache-2.0 */
/* What Java and C# call terms of heed's sentences where the rules of said.c do not tell. tests/bindings/check_words.py
 * fails for an entry that is in no sentence. */
#include "said.h"

#define TERM(role, name, java, csharp)       \
  {                                          \
    HEED_ROLE_##role, name, { java, csharp } \
  }

const Term kTerms[] = {
    /* ---- Options of another name ---- */
    TERM(OPTION, "device_index", "the device's index", "the device's index"),
    TERM(OPTION, "rope->num_factors", "the number of factors", "the number of Factors"),
    TERM(OPTION, "no_output_projection", "outputProjection", "OutputProjection"),
    TERM(OPTION, "no_bias", "bias", "bias"),
    TERM(OPTION, "no_rounding", "rounding", "Rounding"),
    TERM(OPTION, "dtype", "dataType", "DataType"),
    TERM(OPTION, "max_positions", "maxLen", "MaxLen"),
    TERM(OPTION, "output->size", "size", "Size"),
    TERM(OPTION, "size", "numHiddens", "NumHiddens"),
    TERM(OPTION, "encoder->output", "the encoder's output", "the encoder's Output"),
    TERM(OPTION, "decoder->output", "the decoder's output", "the decoder's Output"),
    TERM(OPTION, "encoder->embedding", "the encoder's embedding", "the encoder's Embedding"),
    TERM(OPTION, "decoder->embedding", "the decoder's embedding", "the decoder's Embedding"),
    /* Arguments of constructors and methods in C#, beside a property of the same name. */
    TERM(OPTION, "rope->factor", NULL, "Factor"),
    TERM(OPTION, "factor", NULL, "factor"),
    TERM(OPTION, "learning_rate", NULL, "learningRate"),
    TERM(OPTION, "momentum", NULL, "momentum"),
    TERM(OPTION, "nesterov", NULL, "nesterov"),
    TERM(OPTION, "beta1", NULL, "beta1"),
    TERM(OPTION, "beta2", NULL, "beta2"),
    TERM(OPTION, "weight_decay", NULL, "weightDecay"),
    TERM(OPTION, "ignore_index", NULL, "ignoreIndex"),
    TERM(OPTION, "label_smoothing", NULL, "labelSmoothing"),
    TERM(OPTION, "reduction", NULL, "reduction"),

    /* ---- Options that are flags, which the languages have for the opposite ---- */
    TERM(FLAG, "no_output_projection", "opposite", "opposite"),
    TERM(FLAG, "no_bias", "opposite", "opposite"),
    TERM(FLAG, "no_rounding", "opposite", "opposite"),

    /* ---- Inputs ---- */
    TERM(INPUT, "cache->layer", "cacheLayer", "CacheLayer"),
    TERM(INPUT, "cache->use", "cacheUse", "CacheUse"),
    TERM(INPUT, "decoder", "selfValidLens, selfMask and selfBias", "SelfValidLens, SelfMask and SelfBias"),
    TERM(INPUT, "decoder->memory_cache->cache", "memoryCache", "MemoryCache"),
    TERM(INPUT, "decoder->memory_cache->layer", "memoryCacheLayer", "MemoryCacheLayer"),
    TERM(INPUT, "decoder->memory_cache->sequences", "memorySequences", "MemorySequences"),

    /* ---- Arguments ---- */
    TERM(ARGUMENT, "dtype", "dataType", "dataType"),
    TERM(ARGUMENT, "rank", "the rank of shape", "the rank of shape"),
    TERM(ARGUMENT, "dims", "shape", "shape"),
    TERM(ARGUMENT, "num_sources", "the number of sources", "the number of sources"),
    TERM(ARGUMENT, "num_axes", "the number of axes", "the number of axes"),
    TERM(ARGUMENT, "standard_deviation", "scale", "scale"),
    TERM(ARGUMENT, "mean", "loc", "loc"),
    TERM(ARGUMENT, "scores", "X", "scores"),
    TERM(ARGUMENT, "a", "this array", "this array"),
    TERM(ARGUMENT, "b", "other", "other"),
    TERM(ARGUMENT, "product", "result", "result"),
    TERM(ARGUMENT, "value", "array", "array"),
    TERM(ARGUMENT, "tensor", "the array", "the array"),
    TERM(ARGUMENT, "learning_rate", NULL, "LearningRate"),
    TERM(ARGUMENT, "group->learning_rate_factor", "learningRateFactor", "learningRateFactor"),
    TERM(ARGUMENT, "group->weight_decay", "weightDecay", "weightDecay"),
    TERM(ARGUMENT, "parts->layer", "the block", "the block"),
    TERM(ARGUMENT, "parts->prefix", "the beginning of a parameter's name", "the beginning of a parameter's name"),
    TERM(ARGUMENT, "parts->gradients", "gradients", "gradients"),
    TERM(ARGUMENT, "sets", "gradients", "gradients"),
    TERM(ARGUMENT, "gradients->bias", "the gradient by bias", "the gradient by Bias"),
    TERM(ARGUMENT, "gradients->self_bias", "the gradient by selfBias", "the gradient by SelfBias"),

    /* ---- Constants of classes, and a set of flags that Java has as a list ---- */
    TERM(CONSTANT, "HEED_F32", "DataType.FLOAT32", "DataType.Float32"),
    TERM(CONSTANT, "HEED_F16", "DataType.FLOAT16", "DataType.Float16"),
    TERM(CONSTANT, "HEED_BF16", "DataType.BFLOAT16", "DataType.BFloat16"),
    TERM(CONSTANT, "HEED_I8", "DataType.INT8", "DataType.Int8"),
    TERM(CONSTANT, "HEED_BOOL", "DataType.BOOLEAN", "DataType.Boolean"),
    TERM(CONSTANT, "HEED_DEVICE_CPU", "Device.cpu()", "Device.Cpu()"),
    TERM(CONSTANT, "HEED_DEVICE_ASCEND", "Device.ascend(0)", "Device.Ascend(0)"),
    TERM(CONSTANT, "HEED_CACHE_APPEND", "CacheUse.APPEND", "CacheUse.Append"),
    TERM(CONSTANT, "HEED_CACHE_READ", "CacheUse.READ", "CacheUse.Read"),
    TERM(CONSTANT, "HEED_BIAS_ALL", "Bias.Q, Bias.K, Bias.V, Bias.O", "Bias.All"),
    TERM(SETTING, "biases HEED_BIAS_NONE", "no biases", NULL),

    /* ---- Functions ---- */
    TERM(FUNCTION, "heed_cache_accept", "accept", "Accept"),
    TERM(FUNCTION, "heed_cache_discard", "discard", "Discard"),
    TERM(FUNCTION, "heed_cache_save", "KvCache.save", "KvCache.Save"),
    TERM(FUNCTION, "heed_layer_cache_options", "KvCache.Builder.setBlock", "KvCacheOptions of the block"),
    TERM(FUNCTION, "heed_layer_forward", "forward", "Forward"),
    TERM(FUNCTION, "heed_layer_fill_cache", "fillCache", "FillCache"),
    TERM(FUNCTION, "heed_layer_initialize", "initialize", "Initialize"),
    TERM(FUNCTION, "heed_layer_load", "load", "Load"),
    TERM(FUNCTION, "heed_layer_set_trainable", "Parameter.freeze", "Parameter.Freeze"),
    TERM(FUNCTION, "heed_optimizer_save", "Trainer.saveOptimizer", "Optimizer.Save"),
    TERM(FUNCTION, "heed_sgd_create", "Optimizer.sgd", "new Sgd"),
    TERM(FUNCTION, "heed_adamw_create", "Optimizer.adam or adamW", "new Adam or AdamW"),
    TERM(FUNCTION, "heed_layer_set_parameter", "Parameter.setArray", "Parameter.SetArray"),
    TERM(FUNCTION, "heed_layer_workspace_size", "workspaceSize", "WorkspaceSize"),
    TERM(FUNCTION, "heed_tensor_load_npy", "NDManager.load", "NDManager.Load"),
    TERM(FUNCTION, "heed_tensor_load_safetensors", "NDManager.load", "NDManager.Load"),
    TERM(FUNCTION, "saveParameters", "saveParameters", "SaveParameters"),
    TERM(FUNCTION, "loadParameters", "loadParameters", "LoadParameters"),

    /* ---- Kinds of layers that are classes; of others the name, "linear", is said ---- */
    TERM(KIND, "additive_attention", "AdditiveAttention", "AdditiveAttention"),
    TERM(KIND, "dot_product_attention", "DotProductAttention", "DotProductAttention"),
    TERM(KIND, "feed_forward", "FeedForward", "FeedForward"),
    TERM(KIND, "general_attention", "GeneralAttention", "GeneralAttention"),
    TERM(KIND, "layer_norm", "LayerNorm", "LayerNorm"),
    TERM(KIND, "multi_head_attention", "MultiHeadAttention", "MultiHeadAttention"),
    TERM(KIND, "multi-head attention", "MultiHeadAttention", "MultiHeadAttention"),
    TERM(KIND, "positional_encoding", "PositionalEncoding", "PositionalEncoding"),
    /* Without "block" behind them. */
    TERM(KIND, "encoder layer", "TransformerEncoder", "TransformerEncoder"),
    TERM(KIND, "encoder_layer layer", "TransformerEncoderBlock", "TransformerEncoderBlock"),
    TERM(KIND, "decoder layer", "TransformerDecoder", "TransformerDecoder"),
    TERM(KIND, "decoder_layer layer", "TransformerDecoderBlock", "TransformerDecoderBlock"),
    TERM(KIND, "transformer layer", "Transformer", "Transformer"),

    /* ---- Types of elements ---- */
    TERM(DTYPE, "F32", "FLOAT32", "Float32"),
    TERM(DTYPE, "F16", "FLOAT16", "Float16"),
    TERM(DTYPE, "BF16", "BFLOAT16", "BFloat16"),
    TERM(DTYPE, "F64", "FLOAT64", "Float64"),
    TERM(DTYPE, "I32", "INT32", "Int32"),
    TERM(DTYPE, "I64", "INT64", "Int64"),
    TERM(DTYPE, "I8", "INT8", "Int8"),
    TERM(DTYPE, "U8", "UINT8", "UInt8"),
    TERM(DTYPE, "BOOL", "BOOLEAN", "Boolean"),

    /* ---- Words ---- */
    TERM(WORD, "NULL", "null", "null"),
    TERM(WORD, "nan", "NaN", "NaN"),
    TERM(WORD, "-nan", "NaN", "NaN"), /* .NET's NaN has its sign bit set. */
    TERM(WORD, "inf", "Infinity", "Infinity"),
    TERM(WORD, "-inf", "-Infinity", "-Infinity"),
    TERM(WORD, "a pointer", "an object", "an object"),
    TERM(WORD, "tensor", "array", "array"),
    TERM(WORD, "a tensor", "an array", "an array"),
    TERM(WORD, "copy it into a tensor of one of these first", "convert it by toType first",
         "convert it by ToType first"),
    TERM(WORD, "tensors", "arrays", "arrays"),
    TERM(WORD, "dtype", "data type", "data type"),
    TERM(WORD, "layer", "block", "block"),
    TERM(WORD, "context", "manager", "manager"),
    TERM(WORD, "contexts", "managers", "managers"),
    TERM(WORD, "destroy", "close", "dispose"),
    TERM(WORD, "which do not broadcast", "which does not broadcast", "which does not broadcast"),
    TERM(WORD, "no_bias 0", "center true", "Center true"), /* of a layer norm */
    TERM(WORD, "HEED_BIAS_ bits", "Bias", "Bias"),
    TERM(WORD, "HEED_WANT_ bits", "Wanted", "Wanted"),
    TERM(WORD, " | ", ", ", " | "),
    TERM(WORD, "a decoder layer", "a TransformerDecoderBlock", "a TransformerDecoderBlock"),
    TERM(WORD, "a decoder", "a TransformerDecoder", "a TransformerDecoder"),
    TERM(WORD, "a transformer", "a Transformer", "a Transformer"),

    {HEED_ROLE_TEXT, NULL, {NULL, NULL}},
};

/* A longer prefix stands before the one that begins it. The names are those of bindings/described/enumerations.toml. */
const Enumeration kEnumerations[] = {
    {"HEED_ACTIVATION_", "ActivationKind"},
    {"HEED_ALIBI_", "Alibi"},
    {"HEED_BIAS_", "Bias"},
    {"HEED_CACHE_", "CacheLayout"},
    {"HEED_CAUSAL_", "Causal"},
    {"HEED_EMPTY_ROWS_", "EmptyRows"},
    {"HEED_LOSS_", "LossReduction"},
    {"HEED_NORM_", "NormKind"},
    {"HEED_POSITIONS_", "PositionKind"},
    {"HEED_QK_NORM_", "QkNorm"},
    {"HEED_RELATIVE_BIAS_", "RelativeBias"},
    {"HEED_ROPE_SCALING_", "RopeScaling"},
    {"HEED_ROPE_", "RopeLayout"},
    {"HEED_SCORING_", "Scoring"},
    {"HEED_WANT_", "Wanted"},
    {"HEED_WINDOW_", "Window"},
    {NULL, NULL},
};
