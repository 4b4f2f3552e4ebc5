// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <summary>Keys with their values, in the order in which they were added. A key may occur more than once; a search
/// then finds its first pair.</summary>
/// <typeparam name="TKey">The type of the keys.</typeparam>
/// <typeparam name="TValue">The type of the values.</typeparam>
public class PairList<TKey, TValue> : IReadOnlyList<Pair<TKey, TValue>>
    where TKey : notnull
{
    private readonly List<Pair<TKey, TValue>> pairs = new();

    /// <summary>Makes an empty list.</summary>
    public PairList()
    {
    }

    /// <summary>Makes a list of pairs.</summary>
    /// <param name="pairs">The pairs; none may be null.</param>
    public PairList(IEnumerable<Pair<TKey, TValue>> pairs)
    {
        AddAll(pairs);
    }

    /// <summary>Makes a list of keys and values.</summary>
    /// <param name="keys">The keys.</param>
    /// <param name="values">The values, in the order of the keys.</param>
    /// <exception cref="ArgumentException">The numbers of keys and values differ.</exception>
    public PairList(IReadOnlyList<TKey> keys, IReadOnlyList<TValue> values)
    {
        _ = keys ?? throw new ArgumentNullException(nameof(keys));
        _ = values ?? throw new ArgumentNullException(nameof(values));
        if (keys.Count != values.Count)
        {
            throw new ArgumentException(
                $"keys has {keys.Count} elements and values {values.Count}, expected as many", nameof(values));
        }
        for (int i = 0; i < keys.Count; i++)
        {
            Add(keys[i], values[i]);
        }
    }

    /// <summary>The number of pairs.</summary>
    public int Count => pairs.Count;

    /// <summary>Whether there are no pairs.</summary>
    public bool IsEmpty => pairs.Count == 0;

    /// <summary>All keys, in order: a copy.</summary>
    public IReadOnlyList<TKey> Keys => pairs.Select(pair => pair.Key).ToArray();

    /// <summary>All values, in order: a copy.</summary>
    public IReadOnlyList<TValue> Values => pairs.Select(pair => pair.Value).ToArray();

    /// <summary>The pair at an index.</summary>
    /// <param name="index">The index, from 0.</param>
    /// <exception cref="ArgumentOutOfRangeException">The index is out of range.</exception>
    public Pair<TKey, TValue> this[int index] => pairs[index];

    /// <summary>The first value of a key.</summary>
    /// <param name="key">The key.</param>
    /// <exception cref="KeyNotFoundException">There is no such key.</exception>
    public TValue this[TKey key] =>
        TryGetValue(key, out TValue value)
            ? value
            : throw new KeyNotFoundException($"there is no {key}; there are {string.Join(", ", Keys)}");

    /// <summary>Finds the first value of a key.</summary>
    /// <param name="key">The key.</param>
    /// <param name="value">The value; the type's default if the key does not occur.</param>
    /// <returns>Whether the key occurs.</returns>
    public bool TryGetValue(TKey key, out TValue value)
    {
        int index = IndexOf(key);
        value = index < 0 ? default! : pairs[index].Value;
        return index >= 0;
    }

    /// <summary>Adds a pair at the end.</summary>
    /// <param name="key">The key.</param>
    /// <param name="value">The value.</param>
    public void Add(TKey key, TValue value) => pairs.Add(new Pair<TKey, TValue>(key, value));

    /// <summary>Inserts a pair at an index.</summary>
    /// <param name="index">The index, from 0 to Count.</param>
    /// <param name="key">The key.</param>
    /// <param name="value">The value.</param>
    /// <exception cref="ArgumentOutOfRangeException">The index is out of range.</exception>
    public void Add(int index, TKey key, TValue value) => pairs.Insert(index, new Pair<TKey, TValue>(key, value));

    /// <summary>Adds a pair at the end.</summary>
    /// <param name="pair">The pair.</param>
    public void Add(Pair<TKey, TValue> pair) => pairs.Add(pair ?? throw new ArgumentNullException(nameof(pair)));

    /// <summary>Adds pairs at the end.</summary>
    /// <param name="other">The pairs; none may be null.</param>
    public void AddAll(IEnumerable<Pair<TKey, TValue>> other)
    {
        foreach (Pair<TKey, TValue> pair in other ?? throw new ArgumentNullException(nameof(other)))
        {
            Add(pair);
        }
    }

    /// <summary>Tells whether a key occurs.</summary>
    /// <param name="key">The key.</param>
    /// <returns>Whether it occurs.</returns>
    public bool Contains(TKey key) => IndexOf(key) >= 0;

    /// <summary>Returns the index of a key.</summary>
    /// <param name="key">The key.</param>
    /// <returns>The index of its first pair; -1 if it does not occur.</returns>
    public int IndexOf(TKey key) => pairs.FindIndex(pair => EqualityComparer<TKey>.Default.Equals(pair.Key, key));

    /// <summary>The key at an index.</summary>
    /// <param name="index">The index, from 0.</param>
    /// <returns>The key.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The index is out of range.</exception>
    public TKey KeyAt(int index) => pairs[index].Key;

    /// <summary>The value at an index.</summary>
    /// <param name="index">The index, from 0.</param>
    /// <returns>The value.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The index is out of range.</exception>
    public TValue ValueAt(int index) => pairs[index].Value;

    /// <summary>Removes a pair by its index.</summary>
    /// <param name="index">The index, from 0.</param>
    /// <returns>Its value.</returns>
    /// <exception cref="ArgumentOutOfRangeException">The index is out of range.</exception>
    public TValue Remove(int index)
    {
        TValue value = pairs[index].Value;
        pairs.RemoveAt(index);
        return value;
    }

    /// <summary>Removes the first pair with a key.</summary>
    /// <param name="key">The key.</param>
    /// <returns>Whether the key occurred.</returns>
    public bool Remove(TKey key)
    {
        int index = IndexOf(key);
        if (index >= 0)
        {
            pairs.RemoveAt(index);
        }
        return index >= 0;
    }

    /// <summary>Returns the pairs as a dictionary, with the first pair of each key.</summary>
    /// <returns>A copy.</returns>
    public Dictionary<TKey, TValue> ToMap()
    {
        var map = new Dictionary<TKey, TValue>();
        foreach (Pair<TKey, TValue> pair in pairs)
        {
            if (!map.ContainsKey(pair.Key))
            {
                map.Add(pair.Key, pair.Value);
            }
        }
        return map;
    }

    /// <summary>Tells whether another list has equal pairs in the same order.</summary>
    /// <param name="obj">Another list.</param>
    /// <returns>Whether they are equal.</returns>
    public override bool Equals(object? obj) =>
        obj is PairList<TKey, TValue> other && pairs.SequenceEqual(other.pairs);

    /// <inheritdoc/>
    public override int GetHashCode() =>
        pairs.Aggregate(1, (hash, pair) => unchecked((31 * hash) + pair.GetHashCode()));

    /// <summary>The pairs, as in [(W_q, Linear), (W_k, Linear)].</summary>
    /// <returns>The text.</returns>
    public override string ToString() => "[" + string.Join(", ", pairs) + "]";

    /// <summary>The pairs, one after the other.</summary>
    /// <returns>An enumerator.</returns>
    public IEnumerator<Pair<TKey, TValue>> GetEnumerator() => pairs.GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
}
