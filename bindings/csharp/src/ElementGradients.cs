// SPDX-License-Identifier: Apache-2.0
using System;
using static Heed.ArrayOperation;

namespace Heed;

/// <summary>Gradients of functions of elements.</summary>
internal static class ElementGradients
{
    private static readonly ArrayOperation Add = new("Add", (_, g) => g, Held.None, (_, g) => g, Held.None);
    private static readonly ArrayOperation Subtract =
        new("Subtract", (_, g) => g, Held.None, (_, g) => g.Negate(), Held.None);

    private static readonly ArrayOperation Multiply = new(
        "Multiply", (node, g) => g.Multiply(node.Second), Held.Second, (node, g) => g.Multiply(node.First), Held.First);

    private static readonly ArrayOperation Divide = new(
        "Divide", (node, g) => g.Divide(node.Second), Held.Second, OfDivisor, Held.Second | Held.Result);

    private static readonly ArrayOperation Pow = new(
        "Pow", OfBase, Held.First | Held.Second, OfExponent, Held.First | Held.Second | Held.Result);

    private static readonly ArrayOperation Maximum = new(
        "Maximum", (node, g) => OfChosen(node, g, Comparison.Gte, true), Held.First | Held.Second,
        (node, g) => OfChosen(node, g, Comparison.Gte, false), Held.First | Held.Second);

    private static readonly ArrayOperation Minimum = new(
        "Minimum", (node, g) => OfChosen(node, g, Comparison.Lte, true), Held.First | Held.Second,
        (node, g) => OfChosen(node, g, Comparison.Lte, false), Held.First | Held.Second);

    private static readonly ArrayOperation Negate = new("Negate", (_, g) => g.Negate());
    private static readonly ArrayOperation Abs = new("Abs", (node, g) => With(g, node.First.Sign()), Held.First);
    private static readonly ArrayOperation Square = new("Square", OfSquare, Held.First);
    private static readonly ArrayOperation Sqrt = new("Sqrt", OfRoot, Held.Result);
    private static readonly ArrayOperation Exp = new("Exp", (node, g) => g.Multiply(node.Result), Held.Result);
    private static readonly ArrayOperation Log = new("Log", (node, g) => g.Divide(node.First), Held.First);
    private static readonly ArrayOperation Sin = new("Sin", (node, g) => With(g, node.First.Cos()), Held.First);
    private static readonly ArrayOperation Cos = new("Cos", OfCosine, Held.First);
    private static readonly ArrayOperation Tanh = new("Tanh", OfTanh, Held.Result);
    private static readonly ArrayOperation Sigmoid = new("Sigmoid", OfSigmoid, Held.Result);
    private static readonly ArrayOperation Erf = new("Erf", OfErf, Held.First);

    // With a number in the place of one array.
    private static readonly ArrayOperation AddNumber = new("Add", (_, g) => g);
    private static readonly ArrayOperation SubtractNumber = new("Subtract", (_, g) => g);
    private static readonly ArrayOperation SubtractFromNumber = new("Subtract", (_, g) => g.Negate());
    private static readonly ArrayOperation MultiplyNumber = new("Multiply", (node, g) => g.Multiply(node.Number));
    private static readonly ArrayOperation DivideByNumber = new("Divide", (node, g) => g.Divide(node.Number));
    private static readonly ArrayOperation DivideNumber = new("Divide", OfNumberDivided, Held.First | Held.Result);
    private static readonly ArrayOperation PowNumber = new("Pow", OfPower, Held.First);
    private static readonly ArrayOperation MaximumNumber =
        new("Maximum", (node, g) => WithCondition(g, node.First.Gte(node.Number)), Held.First);

    private static readonly ArrayOperation MinimumNumber =
        new("Minimum", (node, g) => WithCondition(g, node.First.Lte(node.Number)), Held.First);

    /// <summary>What a tape records of a function of one or two arrays; null: it has no gradient.</summary>
    internal static ArrayOperation? Of(ElementFunction function) => function switch
    {
        ElementFunction.Add => Add,
        ElementFunction.Subtract => Subtract,
        ElementFunction.Multiply => Multiply,
        ElementFunction.Divide => Divide,
        ElementFunction.Pow => Pow,
        ElementFunction.Maximum => Maximum,
        ElementFunction.Minimum => Minimum,
        ElementFunction.Negate => Negate,
        ElementFunction.Abs => Abs,
        ElementFunction.Square => Square,
        ElementFunction.Sqrt => Sqrt,
        ElementFunction.Exp => Exp,
        ElementFunction.Log => Log,
        ElementFunction.Sin => Sin,
        ElementFunction.Cos => Cos,
        ElementFunction.Tanh => Tanh,
        ElementFunction.Sigmoid => Sigmoid,
        ElementFunction.Erf => Erf,
        _ => null,
    };

    /// <summary>The same of an array and a number, of which the number may be the first.</summary>
    internal static ArrayOperation? OfNumber(ElementFunction function, bool isFirst) => function switch
    {
        ElementFunction.Add => AddNumber,
        ElementFunction.Subtract => isFirst ? SubtractFromNumber : SubtractNumber,
        ElementFunction.Multiply => MultiplyNumber,
        ElementFunction.Divide => isFirst ? DivideNumber : DivideByNumber,
        ElementFunction.Pow => isFirst ? null : PowNumber,
        ElementFunction.Maximum => MaximumNumber,
        ElementFunction.Minimum => MinimumNumber,
        _ => null,
    };

    /// <summary>The tape that a function of these arrays is recorded on; null: none is.</summary>
    /// <exception cref="NotSupportedException">An array is tracked, and the function has no gradient, or a result is
    /// given.</exception>
    internal static Tape? TapeOf(ElementFunction function, NDArray? result, NDArray a, NDArray? b = null) =>
        Tape.ForNew(Of(function), function, result, a, b);

    /// <summary>The same of an array and a number.</summary>
    internal static Tape? TapeOfNumber(ElementFunction function, bool isFirst, NDArray? result, NDArray a) =>
        Tape.ForNew(OfNumber(function, isFirst), function, result, a);

    /// <summary>A gradient times a factor, which is disposed.</summary>
    internal static NDArray With(NDArray gradient, NDArray factor)
    {
        using (factor)
        {
            return gradient.Multiply(factor);
        }
    }

    /// <summary>A gradient where a condition holds, which is disposed, and 0 elsewhere: never a product with 0, which would
    /// be NaN of an infinity.</summary>
    internal static NDArray WithCondition(NDArray gradient, NDArray condition)
    {
        using (condition)
        {
            return gradient.Where(condition, 0);
        }
    }

    private static NDArray OfDivisor(OperationNode node, NDArray g)
    {
        using NDArray product = g.Multiply(node.Result);
        using NDArray negative = product.Negate();
        return negative.Divide(node.Second);
    }

    private static NDArray OfNumberDivided(OperationNode node, NDArray g)
    {
        using NDArray product = g.Multiply(node.Result);
        using NDArray negative = product.Negate();
        return negative.Divide(node.First);
    }

    private static NDArray OfPower(OperationNode node, NDArray g)
    {
        if (node.Number.Value == 0)
        {
            return g.Manager.Zeros(g.Shape, g.DataType);
        }
        using NDArray scaled = g.Multiply(node.Number);
        return With(scaled, node.First.Pow(node.Number.Value - 1));
    }

    private static NDArray OfBase(OperationNode node, NDArray g)
    {
        using NDArray scaled = g.Multiply(node.Second);
        using NDArray lower = node.Second.Subtract(1);
        using NDArray made = With(scaled, node.First.Pow(lower));
        return WithCondition(made, node.Second.Neq(0));
    }

    /// <summary>0 for a base of 0 and an exponent that is not negative, where the logarithm is not finite.</summary>
    private static NDArray OfExponent(OperationNode node, NDArray g)
    {
        using NDArray product = g.Multiply(node.Result);
        using NDArray made = With(product, node.First.Log());
        using NDArray isOther = node.First.Neq(0);
        using NDArray isNegative = node.Second.Lt(0);
        return WithCondition(made, isOther.LogicalOr(isNegative));
    }

    private static NDArray OfChosen(OperationNode node, NDArray g, Comparison comparison, bool isFirst)
    {
        NDArray isChosen = comparison == Comparison.Gte ? node.First.Gte(node.Second) : node.First.Lte(node.Second);
        using (isChosen)
        {
            return isFirst ? g.Where(isChosen, 0) : WithCondition(g, isChosen.LogicalNot());
        }
    }

    private static NDArray OfSquare(OperationNode node, NDArray g)
    {
        using NDArray twice = g.Multiply(2);
        return twice.Multiply(node.First);
    }

    private static NDArray OfRoot(OperationNode node, NDArray g)
    {
        using NDArray twice = node.Result.Multiply(2);
        return g.Divide(twice);
    }

    private static NDArray OfCosine(OperationNode node, NDArray g)
    {
        using NDArray product = With(g, node.First.Sin());
        return product.Negate();
    }

    private static NDArray OfTanh(OperationNode node, NDArray g)
    {
        using NDArray square = node.Result.Square();
        return With(g, 1 - square);
    }

    private static NDArray OfSigmoid(OperationNode node, NDArray g)
    {
        using NDArray product = g.Multiply(node.Result);
        return With(product, 1 - node.Result);
    }

    private static NDArray OfErf(OperationNode node, NDArray g)
    {
        using NDArray scaled = g.Multiply(2 / Math.Sqrt(Math.PI));
        using NDArray square = node.First.Square();
        using NDArray negative = square.Negate();
        return With(scaled, negative.Exp());
    }
}
