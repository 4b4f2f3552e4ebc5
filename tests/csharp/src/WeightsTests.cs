// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using Xunit;

namespace Heed.Tests;

/// <summary>What tests/bindings/cases/weights.txt does not have of files of weights: C#'s list.</summary>
public sealed class WeightsTests
{
    [Fact]
    public void NamesCannotBeChanged()
    {
        using Weights weights = Weights.Open(TestFiles.Golden("d2l"));
        Assert.Throws<NotSupportedException>(() => ((IList<string>)weights.Names).Clear());
    }
}
