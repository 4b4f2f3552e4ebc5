// SPDX-License-Identifier: Apache-2.0
using System;
using Xunit;

namespace Heed.Tests;

/// <summary>Every invalid argument gives the right exception, whose message names it.</summary>
public sealed class BadInputTests : IDisposable
{
    private readonly ParameterStore ps = new ParameterStore();
    private readonly NDManager manager = TestDevice.NewManager();
    private readonly MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0, false);
    private readonly NDArray queries;
    private readonly NDArray keys;

    public BadInputTests()
    {
        attention.Load(TestFiles.Golden("d2l"), "attention");
        queries = manager.Ones(new Shape(2, 4, 100));
        keys = manager.Ones(new Shape(2, 6, 100));
    }

    public void Dispose()
    {
        attention.Dispose();
        manager.Dispose();
    }

    [Fact]
    public void Constructor()
    {
        Illegal(() => new MultiHeadAttention(100, 7), "NumHiddens", "100", "NumHeads", "7");
        Illegal(() => new MultiHeadAttention(100, 0), "NumHeads", "0");
        Illegal(() => new MultiHeadAttention(100, -5), "NumHeads", "-5");
        Illegal(() => new MultiHeadAttention(-100, 5), "NumHiddens", "-100");
        foreach (float dropout in new[] { 1, -0.1f, float.NaN, float.PositiveInfinity })
        {
            Illegal(() => new MultiHeadAttention(100, 5, dropout), "Dropout");
        }
    }

    [Fact]
    public void Arrays()
    {
        Illegal(() => manager.Zeros(new Shape(2, -1)), "shape", "-1");
        Illegal(() => manager.Zeros(new Shape(1, 1, 1, 1, 1, 1, 1, 1, 1)), "rank", "9");
        Illegal(() => manager.Zeros(new Shape(1L << 40, 1L << 40)), "shape", "overflow");
        Illegal(() => manager.Zeros(new Shape(1), (DataType)99), "dataType", "99");
        Illegal(() => manager.Create(new float[] { 1, 2, 3 }, new Shape(2, 2)), "3 elements", "(2, 2)");
        Illegal(() => manager.Create(new[] { 1, 2, 3 }, new Shape(2, 2)), "3 elements", "(2, 2)");
        Illegal(() => manager.Create(new long[] { 1, 2, 3 }, new Shape(2, 2)), "3 elements", "(2, 2)");
        Check<OutOfMemoryException>(() => manager.Zeros(new Shape(1L << 45)), "140737488355328");
    }

    [Fact]
    public void SizesThatDoNotFit()
    {
        Illegal(() => Forward(queries, manager.Ones(new Shape(3, 6, 100)), keys), "(3, 6, 100)", "(2, 4, 100)");
        Illegal(() => Forward(queries, keys, manager.Ones(new Shape(2, 5, 100))), "(2, 5, 100)", "(2, 6, 100)");
        Illegal(() => Forward(manager.Ones(new Shape(4, 100)), keys, keys), "Queries", "(4, 100)", "rank");
        Illegal(() => Forward(manager.Ones(new Shape(2, 4, 50)), keys, keys), "(2, 4, 50)", "(100, 100)");
    }

    [Fact]
    public void TypesThatDoNotFit()
    {
        NDArray doubles = manager.Ones(new Shape(2, 4, 100), DataType.Float64);
        Illegal(() => Forward(doubles, keys, keys), "Queries", "Float64");
        NDArray halves = manager.Ones(new Shape(2, 6, 100), DataType.Float16);
        Illegal(() => Forward(queries, halves, keys), "Keys", "Float16", "Float32");
        NDArray lengths = manager.Ones(new Shape(2), DataType.Float64);
        Illegal(() => Forward(queries, keys, keys, lengths), "ValidLens", "Float64");
    }

    [Fact]
    public void InvalidLengths()
    {
        foreach (float length in new[] { 7, -1, 1.5f, float.NaN, float.PositiveInfinity })
        {
            Illegal(() => Forward(queries, keys, keys, manager.Create(new[] { 2, length })), "ValidLens", "6");
        }
        Illegal(() => Forward(queries, keys, keys, manager.Create(new[] { 1, 2, 3 })), "ValidLens", "(3)", "(2)");
        NDArray column = manager.Create(new[] { 1, 2 }, new Shape(2, 1));
        Illegal(() => Forward(queries, keys, keys, column), "ValidLens", "(2, 1)");
    }

    [Fact]
    public void ListsOfAnotherLength()
    {
        Illegal(() => Forward(queries, keys), "2 arrays", "3 or 4");
        Illegal(() => Forward(queries, keys, keys, null, queries), "5 arrays", "3 or 4");
        Illegal(() => attention.Initialize(manager, DataType.Float32, queries.Shape), "1 shape,", "3 or 4");
    }

    [Fact]
    public void Initialize()
    {
        var other = new MultiHeadAttention(100, 5);
        Shape q = queries.Shape;
        Shape k = keys.Shape;
        Illegal(() => other.Initialize(manager, DataType.Int32, q, k, k), "Int32");
        Illegal(() => other.Initialize(manager, DataType.Float32, q, new Shape(3, 6, 100), k), "(3, 6, 100)");
        var inputs = new NDList(queries, keys, keys);
        Check<InvalidOperationException>(() => other.Forward(ps, inputs), "W_q.weight is not set");
        Check<InvalidOperationException>(() => other.Save("never-written"), "W_q.weight");
    }

    [Fact]
    public void Files()
    {
        using var folder = new TestFolder();
        string golden = TestFiles.Golden("d2l");
        Failed(Status.IO, () => manager.Load(folder["none"], "x"), "none");
        Failed(Status.IO, () => manager.Load(folder.Path, "x"), folder.Path);
        Failed(Status.NotFound, () => manager.Load(golden, "nobody"), "nobody");
        Illegal(() => manager.Load(golden, "a\0b"), "name", "zero character");
        foreach (string half in new[] { "a\ud83db", "a\ude00", "\ud83d" })
        {
            Illegal(() => manager.Load(golden, half), "name", "surrogate");
            Illegal(() => manager.Load(half, "x"), "path", "surrogate");
            Illegal(() => attention.Load(golden, half), "prefix", "surrogate");
        }
        string truncated = TestFiles.Write(
            folder["truncated"], "{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]}}", 1);
        Failed(Status.CorruptFile, () => manager.Load(truncated, "a"), "truncated");

        Failed(Status.IO, () => attention.Load(folder["none"], "attention"), "none");
        Failed(Status.IO, () => attention.Save(folder["no/such/file"]), "no/such/file");
        Failed(Status.NotFound, () => attention.Load(golden, "encoder"), "encoder.W_q.weight");
        var biased = new MultiHeadAttention(100, 5, 0, true);
        Failed(Status.NotFound, () => biased.Load(golden, "attention"), "attention.W_q.bias");
        Illegal(() => attention.Load(TestFiles.Golden("pytorch_bias"), "attention"), "attention.W_q.bias");
        string factors = TestFiles.Write(
            folder["logit_scale"],
            "{\"in_proj_weight\":{\"dtype\":\"F32\",\"shape\":[3,1],\"data_offsets\":[0,12]},"
            + "\"out_proj.weight\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[12,16]},"
            + "\"logit_scale\":{\"dtype\":\"F32\",\"shape\":[1,1,1],\"data_offsets\":[16,20]}}",
            new byte[20]);
        Check<NotSupportedException>(() => new MultiHeadAttention(1, 1).Load(factors), "\"logit_scale\"");
        var smaller = new MultiHeadAttention(50, 5);
        Illegal(() => smaller.Load(golden, "attention"), "attention.W_q.weight", "(100, 100)");
    }

    [Fact]
    public void Nulls()
    {
        Shape q = queries.Shape;
        IsNull("data", () => manager.Create((float[])null!));
        IsNull("data", () => manager.Create((int[])null!));
        IsNull("data", () => manager.Create((long[])null!));
        IsNull("shape", () => manager.Ones(null!));
        IsNull("dims", () => new Shape(null!));
        IsNull("arrays", () => new NDList(null!));
        IsNull("path", () => manager.Load(null!, "x"));
        IsNull("name", () => manager.Load(TestFiles.Golden("d2l"), null!));
        IsNull("path", () => attention.Load((string)null!, "x"));
        IsNull("path", () => attention.Save((string)null!));
        IsNull("manager", () => attention.Initialize(null!, DataType.Float32, q, q, q));
        IsNull("inputShapes", () => attention.Initialize(manager, DataType.Float32, null!));
        IsNull("keys", () => attention.Initialize(manager, DataType.Float32, q, null, q));
        IsNull("parameterStore", () => attention.Forward(null!, new NDList(queries, keys, keys)));
        IsNull("inputs", () => attention.Forward(ps, null!));
        IsNull("queries", () => Forward(null, keys, keys));
        IsNull("keys", () => Forward(queries, null, keys));
        IsNull("values", () => Forward(queries, keys, null));
    }

    private static void IsNull(string name, Action use) => Assert.Throws<ArgumentNullException>(name, use);

    private static void Illegal(Action use, params string[] words) => Check<ArgumentException>(use, words);

    private static void Failed(Status status, Action use, params string[] words) =>
        Assert.Equal(status, Check<HeedException>(use, words).Status);

    private static T Check<T>(Action use, params string[] words)
        where T : Exception
    {
        T error = Assert.Throws<T>(use);
        Assert.All(words, word => Assert.Contains(word, error.Message));
        return error;
    }

    private NDList Forward(params NDArray?[] inputs) => attention.Forward(ps, new NDList(inputs));
}
