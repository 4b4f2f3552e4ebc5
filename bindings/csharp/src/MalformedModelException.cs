// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The exception for a stream of parameters that does not have the format that the block writes.</summary>
public sealed class MalformedModelException : Exception
{
    /// <summary>Makes an exception.</summary>
    /// <param name="message">A sentence that says what is wrong.</param>
    /// <param name="innerException">The cause, or null.</param>
    public MalformedModelException(string message, Exception? innerException = null)
        : base(message, innerException)
    {
    }
}
