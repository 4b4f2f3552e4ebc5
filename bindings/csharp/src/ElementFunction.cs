// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <summary>HEED_ELEMENTWISE_... of heed.h.</summary>
internal enum ElementFunction
{
    Add,
    Subtract,
    Multiply,
    Divide,
    Pow,
    Remainder,
    Maximum,
    Minimum,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
    LogicalNot,
    Negate,
    Abs,
    Sign,
    Square,
    Round,
    Floor,
    Ceiling,
    Truncate,
    Sqrt,
    Exp,
    Log,
    Sin,
    Cos,
    Tanh,
    Sigmoid,
    Erf,
    IsNaN,
    IsInfinite,
}
