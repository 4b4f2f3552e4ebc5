// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>What a block reads its parameters from is not what such a block writes.</summary>
public sealed class MalformedModelException : Exception
{
    /// <summary>Makes an exception.</summary>
    /// <param name="message">What is wrong, as a sentence.</param>
    /// <param name="innerException">What it comes from, or null.</param>
    public MalformedModelException(string message, Exception? innerException = null)
        : base(message, innerException)
    {
    }
}
