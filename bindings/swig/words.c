/* SPDX-License-Identifier: Apache-2.0 */
/* The words of C in heed's sentences, with those of Java and of C#. tests/bindings/check_words.py fails where a sentence
 * of docs/errors.md or docs/ascend.md has a word of C that is not here, or where an entry is in none of them. A member of
 * a struct needs an entry only where the other languages do not call it by its name in camel case. The name of an
 * argument is listed together with the word behind it, since "a" or "value" alone may be any word. */
#include "translate.h"

#define WORDS(c, java, csharp)     \
  {                                \
    kAnywhere, c, { java, csharp } \
  }
#define WORDS_NOT_OF_FILES(c, java, csharp) \
  {                                         \
    kNotOfFiles, c, { java, csharp }        \
  }

const WordEntry kWords[] = {
    /* ---- Values ---- */
    WORDS("NULL", "null", "null"),
    WORDS("expected a pointer", "expected an object", "expected an object"),
    WORDS("nan", "NaN", "NaN"),
    WORDS("-nan", "NaN", "NaN"), /* .NET's NaN has its sign bit set. */
    WORDS("inf", "Infinity", "Infinity"),

    /* ---- Constants ---- */
    WORDS("HEED_F32", "DataType.FLOAT32", "DataType.Float32"),
    WORDS("HEED_BOOL", "DataType.BOOLEAN", "DataType.Boolean"),
    WORDS("HEED_DEVICE_CPU", "Device.cpu()", "Device.Cpu()"),
    WORDS("HEED_DEVICE_ASCEND", "Device.ascend(0)", "Device.Ascend(0)"),
    WORDS("HEED_CAUSAL_NONE", "Causal.NONE", "Causal.None"),
    WORDS("HEED_CAUSAL_TOP_LEFT", "Causal.TOP_LEFT", "Causal.TopLeft"),
    WORDS("HEED_CAUSAL_BOTTOM_RIGHT", "Causal.BOTTOM_RIGHT", "Causal.BottomRight"),
    WORDS("HEED_WINDOW_NONE", "Window.NONE", "Window.None"),
    WORDS("HEED_WINDOW_TOP_LEFT", "Window.TOP_LEFT", "Window.TopLeft"),
    WORDS("HEED_WINDOW_BOTTOM_RIGHT", "Window.BOTTOM_RIGHT", "Window.BottomRight"),
    WORDS("HEED_EMPTY_ROWS_ZERO", "EmptyRows.ZERO", "EmptyRows.Zero"),
    WORDS("HEED_EMPTY_ROWS_MEAN", "EmptyRows.MEAN", "EmptyRows.Mean"),
    WORDS("HEED_SCORING_DOT_PRODUCT", "Scoring.DOT_PRODUCT", "Scoring.DotProduct"),
    WORDS("HEED_SCORING_ADDITIVE", "Scoring.ADDITIVE", "Scoring.Additive"),
    WORDS("HEED_ROPE_HALF", "RopeLayout.HALF", "RopeLayout.Half"),
    WORDS("HEED_ROPE_INTERLEAVED", "RopeLayout.INTERLEAVED", "RopeLayout.Interleaved"),
    WORDS("HEED_ROPE_SCALING_NONE", "RopeScaling.NONE", "RopeScaling.None"),
    WORDS("HEED_ROPE_SCALING_LINEAR", "RopeScaling.LINEAR", "RopeScaling.Linear"),
    WORDS("HEED_ROPE_SCALING_NTK", "RopeScaling.NTK", "RopeScaling.Ntk"),
    WORDS("HEED_ROPE_SCALING_YARN", "RopeScaling.YARN", "RopeScaling.Yarn"),
    WORDS("HEED_ROPE_SCALING_LLAMA3", "RopeScaling.LLAMA3", "RopeScaling.Llama3"),
    WORDS("HEED_ROPE_SCALING_FACTORS", "RopeScaling.FACTORS", "RopeScaling.Factors"),
    WORDS("HEED_QK_NORM_RMS", "QkNorm.RMS", "QkNorm.Rms"),
    WORDS("HEED_QK_NORM_LAYER", "QkNorm.LAYER", "QkNorm.Layer"),
    WORDS("HEED_RELATIVE_BIAS_NONE", "RelativeBias.NONE", "RelativeBias.None"),
    WORDS("HEED_RELATIVE_BIAS_BOTH_WAYS", "RelativeBias.BOTH_WAYS", "RelativeBias.BothWays"),
    WORDS("HEED_RELATIVE_BIAS_ONE_WAY", "RelativeBias.ONE_WAY", "RelativeBias.OneWay"),
    WORDS("HEED_ALIBI_NONE", "Alibi.NONE", "Alibi.None"),
    WORDS("HEED_ALIBI_ADDED", "Alibi.ADDED", "Alibi.Added"),
    WORDS("HEED_ALIBI_SCALED", "Alibi.SCALED", "Alibi.Scaled"),
    WORDS("HEED_POSITIONS_SINUSOIDAL", "PositionKind.SINUSOIDAL", "PositionKind.Sinusoidal"),
    WORDS("HEED_POSITIONS_SINUSOIDAL_HALVES", "PositionKind.SINUSOIDAL_HALVES", "PositionKind.SinusoidalHalves"),
    WORDS("HEED_POSITIONS_LEARNED", "PositionKind.LEARNED", "PositionKind.Learned"),
    WORDS("HEED_POSITIONS_SINUSOIDAL_HALVES_2I", "PositionKind.SINUSOIDAL_HALVES_2I",
          "PositionKind.SinusoidalHalves2I"),
    WORDS("HEED_WANT_ bits", "Wanted", "Wanted"),
    WORDS("HEED_WANT_OUTPUT", "Wanted.OUTPUT", "Wanted.Output"),
    WORDS("HEED_WANT_WEIGHTS", "Wanted.WEIGHTS", "Wanted.Weights"),
    WORDS("HEED_WANT_LOG_SUM_EXP", "Wanted.LOG_SUM_EXP", "Wanted.LogSumExp"),

    /* In Java a list of them, in C# a set of flags. */
    WORDS("HEED_BIAS_ bits", "Bias", "Bias"),
    WORDS("options->biases HEED_BIAS_NONE", "no biases", "Biases Bias.None"),
    WORDS("options->biases HEED_BIAS_ALL", "biases Bias.Q, Bias.K, Bias.V, Bias.O", "Biases Bias.All"),
    WORDS("HEED_BIAS_Q |", "Bias.Q,", "Bias.Q |"),
    WORDS("HEED_BIAS_K |", "Bias.K,", "Bias.K |"),
    WORDS("HEED_BIAS_V |", "Bias.V,", "Bias.V |"),
    WORDS("HEED_BIAS_Q", "Bias.Q", "Bias.Q"),
    WORDS("HEED_BIAS_K", "Bias.K", "Bias.K"),
    WORDS("HEED_BIAS_V", "Bias.V", "Bias.V"),
    WORDS("HEED_BIAS_O", "Bias.O", "Bias.O"),

    /* ---- Options of another name, or of another sense ---- */
    WORDS("options->device_index", "the device's index", "the device's index"),
    WORDS("options->no_output_projection is set", "outputProjection is false", "OutputProjection is false"),
    WORDS("options->no_output_projection 0", "outputProjection true", "OutputProjection true"),
    WORDS("options->no_output_projection 1", "outputProjection false", "OutputProjection false"),
    WORDS("options->no_bias 0", "bias true", "bias true"),
    WORDS("options->add_bias_kv is 1", "addBiasKv is true", "AddBiasKv is true"),
    WORDS("options->add_zero_attn is 1", "addZeroAttn is true", "AddZeroAttn is true"),
    WORDS("options->sinks is 0, expected 1", "sinks is false, expected true", "Sinks is false, expected true"),
    WORDS("HEED_SCORING_ADDITIVE: expected 0", "Scoring.ADDITIVE: expected false", "Scoring.Additive: expected false"),
    WORDS("options->rope->no_rounding is set", "rounding is false", "Rounding is false"),
    WORDS("options->rope->no_rounding is 0, expected 1", "rounding is true, expected false",
          "Rounding is true, expected false"),
    WORDS("options->rope->no_rounding is 1, expected 0", "rounding is false, expected true",
          "Rounding is false, expected true"),
    WORDS("no_rounding 1", "rounding false", "Rounding false"),
    WORDS("options->rope->num_factors is", "the number of factors is", "the number of Factors is"),
    WORDS("positions and query_offsets", "positions and queryOffsets", "Positions and QueryOffsets"),
    WORDS("positional_encoding", "PositionalEncoding", "PositionalEncoding"),
    WORDS("attention_factor", "attentionFactor", "AttentionFactor"),
    WORDS("beta_fast", "betaFast", "BetaFast"),
    WORDS("beta_slow", "betaSlow", "BetaSlow"),
    WORDS("high_freq_factor", "highFreqFactor", "HighFreqFactor"),
    WORDS("low_freq_factor", "lowFreqFactor", "LowFreqFactor"),
    WORDS("original_length", "originalLength", "OriginalLength"),
    WORDS("rotary_offset", "rotaryOffset", "RotaryOffset"),
    WORDS("rotary_size", "rotarySize", "RotarySize"),
    WORDS("the max_distance", "relativeBiasMaxDistance", "RelativeBiasMaxDistance"),
    WORDS("options->size", "numHiddens", "NumHiddens"),
    WORDS("options->max_positions", "maxLen", "MaxLen"),
    WORDS("allow_reduced_precision", "allowReducedPrecision", "AllowReducedPrecision"),

    /* ---- Functions ---- */
    WORDS("heed_layer_initialize", "initialize", "Initialize"),
    WORDS("heed_layer_load", "load", "Load"),
    WORDS("heed_layer_set_parameter", "Parameter.setArray", "Parameter.SetArray"),
    WORDS("heed_layer_workspace_size", "workspaceSize", "WorkspaceSize"),
    WORDS("heed_tensor_load_npy", "NDManager.load", "NDManager.Load"),
    WORDS("heed_tensor_load_safetensors", "NDManager.load", "NDManager.Load"),
    WORDS("saveParameters", "saveParameters", "SaveParameters"),
    WORDS("loadParameters", "loadParameters", "LoadParameters"),

    /* ---- Arguments ---- */
    WORDS("dtype is", "dataType is", "dataType is"),
    WORDS("rank is", "the rank of shape is", "the rank of shape is"),
    WORDS("dims", "shape", "shape"),
    WORDS("which do not broadcast", "which does not broadcast", "which does not broadcast"),
    WORDS("valid_lens", "validLens", "validLens"),
    WORDS("standard_deviation", "scale", "scale"),
    WORDS("mean is", "loc is", "loc is"),
    WORDS("scores has", "X has", "scores has"),
    WORDS("a is", "this array is", "this array is"),
    WORDS("a has", "this array has", "this array has"),
    WORDS("b is", "other is", "other is"),
    WORDS("b has", "other has", "other has"),
    WORDS("value is", "array is", "array is"),
    WORDS("value has", "array has", "array has"),

    /* ---- Things ---- */
    WORDS_NOT_OF_FILES("tensor is", "the array is", "the array is"),
    WORDS_NOT_OF_FILES("tensor has", "the array has", "the array has"),
    WORDS_NOT_OF_FILES("of tensor", "of the array", "of the array"),
    WORDS_NOT_OF_FILES("a tensor", "an array", "an array"),
    WORDS_NOT_OF_FILES("the tensor", "the array", "the array"),
    WORDS_NOT_OF_FILES("tensor", "array", "array"),
    WORDS_NOT_OF_FILES("tensors", "arrays", "arrays"),
    WORDS("layer", "block", "block"),
    WORDS("the context is strict", "the manager is strict", "the manager is strict"),
    WORDS("the context on", "the manager on", "the manager on"),
    WORDS("a context", "a manager", "a manager"),
    WORDS("destroy all that belongs to contexts", "close all that belongs to managers",
          "dispose all that belongs to managers"),

    /* ---- Types of elements ---- */
    WORDS_NOT_OF_FILES("dtype", "data type", "data type"),
    WORDS_NOT_OF_FILES("F32", "FLOAT32", "Float32"),
    WORDS_NOT_OF_FILES("F16", "FLOAT16", "Float16"),
    WORDS_NOT_OF_FILES("BF16", "BFLOAT16", "BFloat16"),
    WORDS_NOT_OF_FILES("F64", "FLOAT64", "Float64"),
    WORDS_NOT_OF_FILES("I32", "INT32", "Int32"),
    WORDS_NOT_OF_FILES("I64", "INT64", "Int64"),
    WORDS_NOT_OF_FILES("I8", "INT8", "Int8"),
    WORDS_NOT_OF_FILES("U8", "UINT8", "UInt8"),
    WORDS_NOT_OF_FILES("BOOL", "BOOLEAN", "Boolean"),

    {kAnywhere, NULL, {NULL, NULL}},
};
