// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>The activations of <see cref="FeedForward"/> and <see cref="Activation"/>, each with its formula, since
/// frameworks call several of them "gelu" (Hendrycks and Gimpel, arXiv 1606.08415). sigma is the logistic function, Phi
/// the distribution function of the normal distribution.</summary>
public enum ActivationKind
{
    /// <summary>max(x, 0); NaN stays NaN.</summary>
    Relu = 0,

    /// <summary>x Phi(x): PyTorch's and Keras' default, "gelu" of Hugging Face.</summary>
    Gelu = 1,

    /// <summary>x sigma(2 sqrt(2 / pi) (x + 0.044715 x^3)): "gelu_new", "gelu_pytorch_tanh".</summary>
    GeluTanh = 2,

    /// <summary>x sigma(1.702 x): "quick_gelu" of CLIP.</summary>
    GeluQuick = 3,

    /// <summary>x sigma(x): "silu", "swish".</summary>
    Silu = 4,
}
