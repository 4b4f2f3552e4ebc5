// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using Xunit;

namespace Heed.Tests;

public class PairListTests
{
    [Fact]
    public void IsAListOfPairs()
    {
        var list = new PairList<string, int> { { "a", 1 }, { "b", 2 }, { "a", 3 } };
        Assert.Equal(3, list.Count);
        Assert.False(list.IsEmpty);
        Assert.Equal(new[] { "a", "b", "a" }, list.Keys);
        Assert.Equal(new[] { 1, 2, 3 }, list.Values);
        Assert.Equal(1, list["a"]);
        Assert.Equal(new Pair<string, int>("a", 3), list[2]);
        Assert.Equal("b", list.KeyAt(1));
        Assert.Equal(3, list.ValueAt(2));
        Assert.Equal(1, list.IndexOf("b"));
        Assert.Equal(-1, list.IndexOf("c"));
        Assert.True(list.Contains("b"));
        Assert.False(list.Contains("c"));
        Assert.True(list.TryGetValue("b", out int found));
        Assert.Equal(2, found);
        Assert.False(list.TryGetValue("c", out found));
        Assert.Equal(0, found);
        Assert.Equal(new Dictionary<string, int> { ["a"] = 1, ["b"] = 2 }, list.ToMap());
        Assert.Equal(6, list.Sum(pair => pair.Value));
        Assert.Equal(3, ((IEnumerable)list).Cast<object>().Count());

        list.Add(1, "c", 9);
        Assert.Equal("acba", string.Concat(list.Keys));
        Assert.Equal(9, list.Remove(1));
        Assert.Equal(1, list.Remove(0));
        Assert.Equal(3, list["a"]);
        Assert.True(list.Remove("a"));
        Assert.False(list.Remove("a"));
        Assert.Equal(new[] { "b" }, list.Keys);
        list.Remove("b");
        Assert.True(list.IsEmpty);
    }

    [Fact]
    public void IsMadeOfPairsOrOfKeysAndValues()
    {
        var list = new PairList<string, int>(new[] { "a", "b" }, new[] { 1, 2 });
        Assert.Equal(list, new PairList<string, int>(list));
        Assert.True(list.Equals((object)new PairList<string, int>(list)));
        Assert.Equal(list.GetHashCode(), new PairList<string, int>(list).GetHashCode());
        Assert.False(list.Equals((object)new PairList<string, int>()));
        Assert.False(list.Equals((object)"a"));
        Assert.Equal("[(a, 1), (b, 2)]", list.ToString());
        list.AddAll(new PairList<string, int>(new[] { new Pair<string, int>("c", 3) }));
        list.Add(new Pair<string, int>("d", 4));
        Assert.Equal("abcd", string.Concat(list.Keys));
        Assert.Contains("2", Assert.Throws<ArgumentException>(
            "values", () => new PairList<string, int>(new[] { "a", "b" }, new[] { 1 })).Message);
    }

    [Fact]
    public void NamesAMissingKey()
    {
        var list = new PairList<string, int> { { "a", 1 }, { "b", 2 } };
        Assert.Equal("there is no c; there are a, b", Assert.Throws<KeyNotFoundException>(() => list["c"]).Message);
        Assert.Throws<ArgumentOutOfRangeException>(() => list[2]);
        Assert.Throws<ArgumentOutOfRangeException>(() => list.KeyAt(-1));
        Assert.Throws<ArgumentOutOfRangeException>(() => list.ValueAt(2));
        Assert.Throws<ArgumentOutOfRangeException>(() => list.Remove(2));
        Assert.Throws<ArgumentNullException>("pair", () => list.Add(null!));
        Assert.Throws<ArgumentNullException>("other", () => list.AddAll(null!));
        Assert.Throws<ArgumentNullException>("keys", () => new PairList<string, int>(null!, new[] { 1 }));
        Assert.Throws<ArgumentNullException>("values", () => new PairList<string, int>(new[] { "a" }, null!));
        Assert.Throws<ArgumentNullException>("other", () => new PairList<string, int>(null!));
    }

    [Fact]
    public void APairIsEqualByItsParts()
    {
        var pair = new Pair<string, int?>("a", 1);
        (string key, int? value) = pair;
        Assert.Equal(("a", 1), (key, value));
        Assert.Equal(pair, new Pair<string, int?>("a", 1));
        Assert.Equal(pair.GetHashCode(), new Pair<string, int?>("a", 1).GetHashCode());
        Assert.NotEqual(pair, new Pair<string, int?>("a", null));
        Assert.NotEqual(pair, new Pair<string, int?>("b", 1));
        Assert.False(pair.Equals(null));
        Assert.False(pair.Equals((object)"a"));
        Assert.Equal("(a, 1)", pair.ToString());
        Assert.Equal(0, new Pair<string?, int?>(null, null).GetHashCode());
    }
}
