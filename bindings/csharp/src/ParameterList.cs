// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>Parameters with their names, such as those of a block.</summary>
public sealed class ParameterList : PairList<string, Parameter>
{
}
