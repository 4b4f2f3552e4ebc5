// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>Which elements of a head one rotation turns. The wrong pairing gives wrong numbers that look right, so
/// there is no default.</summary>
public enum RopeLayout
{
    /// <summary>Element i and element i + RotarySize / 2: Llama, Qwen, Gemma and others in Hugging Face's
    /// files.</summary>
    Half = 1,

    /// <summary>Elements 2i and 2i + 1, as in the paper: GPT-J, Cohere, Meta's own files of Llama.</summary>
    Interleaved = 2,
}
