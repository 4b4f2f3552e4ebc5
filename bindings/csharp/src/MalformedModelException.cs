// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>A stream of parameters does not have the format that the block writes.</summary>
public sealed class MalformedModelException : Exception
{
    /// <summary>Makes an exception.</summary>
    /// <param name="message">What is wrong, as a sentence.</param>
    /// <param name="innerException">The cause, or null.</param>
    public MalformedModelException(string message, Exception? innerException = null)
        : base(message, innerException)
    {
    }
}
