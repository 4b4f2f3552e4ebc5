// SPDX-License-Identifier: Apache-2.0
using System.Linq;
using Heed;

/// <summary>What is to be learned.</summary>
internal enum SequenceTask
{
    Copy,
    Reverse,
}

/// <summary>What a program learns that copies or reverses: random sequences of symbols, and what shall become of them. Each
/// ends before its rows do, as sentences do. The sequences are those of examples/c/sequences.c.</summary>
internal sealed class Sequences
{
    /// <summary>Tokens: two marks and ten symbols.</summary>
    internal const int End = 0;
    internal const int Begin = 1;
    internal const int FirstSymbol = 2;
    internal const int NumTokensOfAll = 12;

    internal const int MinSymbols = 3;
    internal const int MaxSymbols = 8;

    /// <summary>Of a target, with a mark.</summary>
    internal const int MaxRows = MaxSymbols + 1;

    /// <summary>Draws the sequences of a step. The same numbers give the same sequences everywhere.</summary>
    internal Sequences(NDManager manager, SequenceTask task, int step, int numSequences)
    {
        var source = new long[numSequences * MaxSymbols];
        var sourceLens = new long[numSequences];
        var target = new long[numSequences * MaxRows];
        var labels = new long[numSequences * MaxRows];
        var targetLens = new long[numSequences];
        for (int n = 0; n < numSequences; n++)
        {
            var random = new SplitMix64(((ulong)step << 32) + (ulong)n);
            int length = MinSymbols + random.Below(MaxSymbols - MinSymbols + 1);
            for (int i = 0; i < MaxSymbols; i++)
            {
                source[(n * MaxSymbols) + i] =
                    i < length ? FirstSymbol + random.Below(NumTokensOfAll - FirstSymbol) : End;
            }
            target[n * MaxRows] = Begin;
            for (int i = 0; i < MaxRows; i++)
            {
                int from = task == SequenceTask.Copy ? i : length - 1 - i;
                long label = i < length ? source[(n * MaxSymbols) + from] : End;
                labels[(n * MaxRows) + i] = label;
                if (i + 1 < MaxRows)
                {
                    target[(n * MaxRows) + i + 1] = label;
                }
            }
            sourceLens[n] = length;
            targetLens[n] = length + 1;
        }
        NumSequences = numSequences;
        Source = manager.Create(source, new Shape(numSequences, MaxSymbols));
        SourceLens = manager.Create(sourceLens);
        Target = manager.Create(target, new Shape(numSequences, MaxRows));
        Labels = manager.Create(labels, new Shape(numSequences, MaxRows));
        TargetLens = manager.Create(targetLens);
        NumTokens = sourceLens.Sum() + targetLens.Sum();
    }

    internal int NumSequences { get; }

    /// <summary>(sequences, MaxSymbols): the symbols that are read.</summary>
    internal NDArray Source { get; }

    /// <summary>(sequences): how many of them count.</summary>
    internal NDArray SourceLens { get; }

    /// <summary>(sequences, MaxRows): Begin, then the symbols to write.</summary>
    internal NDArray Target { get; }

    /// <summary>(sequences, MaxRows): what follows each row of the target: the symbols, then End.</summary>
    internal NDArray Labels { get; }

    /// <summary>(sequences): how many rows of target and labels count.</summary>
    internal NDArray TargetLens { get; }

    /// <summary>How many tokens are read and written.</summary>
    internal long NumTokens { get; }

    /// <summary>What a Transformer reads: source and target. Rows of the target behind its length are not
    /// computed.</summary>
    internal AttentionInputs NewInputs() => new()
    {
        Queries = Target,
        Keys = Source,
        ValidLens = SourceLens,
        QueryLens = TargetLens,
    };

    /// <summary>A generator with 64 bits of state (SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
    /// Generators", 2014).</summary>
    private struct SplitMix64
    {
        private ulong state;

        internal SplitMix64(ulong seed) => state = seed;

        /// <summary>The next number from 0 to below the bound.</summary>
        internal int Below(int bound)
        {
            state += 0x9e3779b97f4a7c15;
            ulong z = state;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
            z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
            return (int)((z ^ (z >> 31)) % (ulong)bound);
        }
    }
}
