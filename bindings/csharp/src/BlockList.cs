// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>Blocks with their names, as the children of a block.</summary>
public sealed class BlockList : PairList<string, Block>
{
}
