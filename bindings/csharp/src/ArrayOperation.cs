// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>Makes the gradient with respect to one input of that of the result: a new array of the tape's manager, or the
/// same one. It has the shape of the input, or one that the input is repeated to.</summary>
internal delegate NDArray GradientRule(OperationNode node, NDArray gradient);

/// <summary>An operation on arrays that has gradients: its name, and for each input the rule, with the arrays that the rule
/// reads.</summary>
internal sealed class ArrayOperation
{
    internal ArrayOperation(string name, GradientRule? first, Held ofFirst = Held.None)
        : this(name, first, ofFirst, null, Held.None)
    {
    }

    internal ArrayOperation(
        string name, GradientRule? first, Held ofFirst, GradientRule? second, Held ofSecond, GradientRule? third = null,
        Held ofThird = Held.None)
    {
        Name = name;
        First = first;
        OfFirst = ofFirst;
        Second = second;
        OfSecond = ofSecond;
        Third = third;
        OfThird = ofThird;
    }

    /// <summary>The arrays that a rule reads.</summary>
    [Flags]
    internal enum Held
    {
        None = 0,
        First = 1,
        Second = 2,
        Third = 4,
        Result = 8,
    }

    /// <summary>The name of the operation, for exceptions.</summary>
    internal string Name { get; }

    /// <summary>The rule of the first input; null: it is of a type that no tape tracks, or was refused.</summary>
    internal GradientRule? First { get; }

    internal GradientRule? Second { get; }

    internal GradientRule? Third { get; }

    private Held OfFirst { get; }

    private Held OfSecond { get; }

    private Held OfThird { get; }

    /// <summary>What the rules of the inputs that are tracked read.</summary>
    internal Held Needs(bool first, bool second, bool third) =>
        (first ? OfFirst : Held.None) | (second ? OfSecond : Held.None) | (third ? OfThird : Held.None);
}
