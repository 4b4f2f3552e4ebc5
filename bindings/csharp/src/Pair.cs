// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>A key and its value, as in a <see cref="PairList{TKey, TValue}"/>. Immutable.</summary>
/// <typeparam name="TKey">The type of the key.</typeparam>
/// <typeparam name="TValue">The type of the value.</typeparam>
public sealed class Pair<TKey, TValue> : IEquatable<Pair<TKey, TValue>>
{
    /// <summary>Makes a pair.</summary>
    /// <param name="key">The key.</param>
    /// <param name="value">The value.</param>
    public Pair(TKey key, TValue value)
    {
        Key = key;
        Value = value;
    }

    /// <summary>The key.</summary>
    public TKey Key { get; }

    /// <summary>The value.</summary>
    public TValue Value { get; }

    /// <summary>Splits the pair, as in <c>foreach (var (name, block) in block.Children)</c>.</summary>
    /// <param name="key">The key.</param>
    /// <param name="value">The value.</param>
    public void Deconstruct(out TKey key, out TValue value)
    {
        key = Key;
        value = Value;
    }

    /// <summary>Tells whether both pairs have equal keys and values.</summary>
    /// <param name="other">Another pair.</param>
    /// <returns>Whether they are equal.</returns>
    public bool Equals(Pair<TKey, TValue>? other) =>
        other is not null
        && EqualityComparer<TKey>.Default.Equals(Key, other.Key)
        && EqualityComparer<TValue>.Default.Equals(Value, other.Value);

    /// <inheritdoc/>
    public override bool Equals(object? obj) => Equals(obj as Pair<TKey, TValue>);

    /// <inheritdoc/>
    public override int GetHashCode() => unchecked((31 * (Key?.GetHashCode() ?? 0)) + (Value?.GetHashCode() ?? 0));

    /// <summary>The key and the value, as in (W_q, Linear).</summary>
    /// <returns>The text.</returns>
    public override string ToString() => $"({Key}, {Value})";
}
