// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed.Tests;

/// <summary>A case that cannot be run.</summary>
public sealed class CaseMistakeException : Exception
{
    internal CaseMistakeException(string message, Exception? inner = null)
        : base(message, inner)
    {
    }
}
