// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text;

namespace Heed.Tests;

/// <summary>The functions that cases have beside those of heed.</summary>
internal sealed class CaseFunctions
{
    private readonly Dictionary<string, Func<List<object?>, object?>> functions;

    internal CaseFunctions(TestFolder folder) => functions = new()
    {
        ["floats"] = all => Numbers(all).Select(Convert.ToSingle).ToArray(),
        ["ints"] = all => Numbers(all).Select(Convert.ToInt32).ToArray(),
        ["longs"] = all => Numbers(all).Select(Convert.ToInt64).ToArray(),
        ["bools"] = all => CaseComparison.List(all[0]).Cast<bool>().ToArray(),
        ["float"] = all => Convert.ToSingle(all[0]),
        ["none"] = all => new CaseNull((string)all[0]!),
        ["ulp"] = all => MathF.BitIncrement(Convert.ToSingle(all[0])) - Convert.ToSingle(all[0]),
        ["max"] = all => Math.Max((long)all[0]!, (long)all[1]!),
        ["total"] = all => Numbers(all).Sum(Convert.ToDouble),
        ["largest"] = all => Numbers(all).Max(each => Math.Abs(Convert.ToDouble(each))),
        ["log"] = all => Math.Log(Convert.ToDouble(all[0])),
        ["exp"] = all => Math.Exp(Convert.ToDouble(all[0])),
        ["text"] = all => all[0]!.ToString(),
        ["count"] = all => (long)CaseComparison.List(all[0]).Count,
        ["file"] = all => folder[(string)all[0]!],
        ["golden"] = all => TestFiles.Golden((string)all[0]!),
        ["data"] = all => TestFiles.Data((string)all[0]!),
        ["bytes"] = all => Bytes(Numbers(all)),
        ["store"] = Store,
        ["place"] = all => (long)Encoding.Latin1.GetString((byte[])all[0]!).IndexOf((string)all[1]!, StringComparison.Ordinal),
        ["changed"] = Changed,
        ["joined"] = all => (all.Count == 1 ? CaseComparison.List(all[0]) : all).SelectMany(CaseComparison.List).ToList(),
        ["filled"] = all => Enumerable.Repeat(all[0], Convert.ToInt32(all[1])).ToList(),
        ["setElement"] = SetElement,
        ["choose"] = all => all[(bool)all[0]! ? 1 : 2],
        ["plus"] = all => Sum((NDArray)all[0]!, (NDArray)all[1]!),
        ["not"] = all => !(bool)all[0]!,
        ["onDevice"] = all => all[TestDevice.IsCpu ? 0 : 1],
        ["characters"] = all => File.ReadAllText((string)all[0]!, Encoding.Latin1),
        ["part"] = all => CaseComparison.List(all[0]).GetRange(Convert.ToInt32(all[1]), Convert.ToInt32(all[2])),
        ["has"] = all => CaseComparison.List(all[0]).Contains(all[1]),
        ["range"] = all => Enumerable.Range(0, Convert.ToInt32(all[0])).Select(each => (object?)(long)each).ToList(),
        ["reading"] = all => File.OpenRead((string)all[0]!),
        ["writing"] = all => File.Create((string)all[0]!),
        ["delete"] = all =>
        {
            File.Delete((string)all[0]!);
            return null;
        },
        ["exists"] = all => File.Exists((string)all[0]!),
        ["contents"] = all => File.ReadAllBytes((string)all[0]!),
        ["firstBytes"] = all => ((byte[])all[0]!)[..Convert.ToInt32(all[1])],
        ["loadBytes"] = LoadBytes,
        ["cacheFull"] = all => Activator.CreateInstance(
            typeof(CacheFullException), BindingFlags.NonPublic | BindingFlags.Instance, null, all.ToArray(), null),
        ["below"] = all => Convert.ToDouble(all[0]) < Convert.ToDouble(all[1]),
        ["at"] = all => Called(() => ((NDArray)all[0]!)[CaseIndex.Of((string)all[1]!, all.Skip(2))]),
        ["put"] = Put,
        ["write"] = all => TestFiles.Write((string)all[0]!, (string)all[1]!, Bytes(Numbers(all.Skip(2).ToList()))),
    };

    internal IEnumerable<string> Names => functions.Keys;

    internal object? Call(string name, List<object?> arguments)
    {
        CaseReader.Require(functions.ContainsKey(name), "no function has the name " + name);
        return functions[name](arguments);
    }

    private static byte[] Bytes(IEnumerable<object?> numbers) => numbers.Select(each => (byte)Convert.ToInt64(each)).ToArray();

    /// <summary>Those of a text, of an array or of one number.</summary>
    private static byte[] BytesOf(object? value) => value switch
    {
        byte[] bytes => bytes,
        string text => Encoding.UTF8.GetBytes(text),
        _ => Bytes(new[] { value }),
    };

    private static object? Store(List<object?> arguments)
    {
        File.WriteAllBytes((string)arguments[0]!, BytesOf(arguments[1]));
        return null;
    }

    /// <summary>Bytes with others from some place on.</summary>
    private static byte[] Changed(List<object?> arguments)
    {
        var changed = (byte[])((byte[])arguments[0]!).Clone();
        BytesOf(arguments[2]).CopyTo(changed, (int)(long)arguments[1]!);
        return changed;
    }

    /// <summary>The sums of the elements of two arrays.</summary>
    private static NDArray Sum(NDArray left, NDArray right) =>
        left.Manager.Create(left.ToFloatArray().Zip(right.ToFloatArray(), (a, b) => a + b).ToArray(), left.Shape);

    private static object? SetElement(List<object?> arguments)
    {
        var array = (Array)arguments[0]!;
        array.SetValue(Convert.ChangeType(arguments[2], array.GetType().GetElementType()!), Convert.ToInt32(arguments[1]));
        return null;
    }

    /// <summary>A call that cannot be made by name, as its bytes are a span.</summary>
    private static object? LoadBytes(List<object?> arguments) => Called(() =>
    {
        ((KvCache)arguments[0]!).Load((long)arguments[1]!, (byte[]?)arguments[2]);
        return null;
    });

    /// <summary>Sets a part of an array, by its indices, to an array or a number.</summary>
    private static object? Put(List<object?> arguments) => Called(() => ((NDArray)arguments[0]!)[CaseIndex.Of((string)arguments[1]!, arguments.Skip(3))] =
        arguments[2] switch
        {
            long number => number,
            double number => number,
            _ => (NDArray)arguments[2]!,
        });

    /// <summary>What a call returns; what it throws is thrown as by a member.</summary>
    private static object? Called(Func<object?> call)
    {
        try
        {
            return call();
        }
        catch (Exception error)
        {
            throw new TargetInvocationException(error);
        }
    }

    /// <summary>The arguments, or the elements of the only one.</summary>
    private static IEnumerable<object?> Numbers(List<object?> arguments) =>
        arguments.Count == 1 && CaseComparison.IsList(arguments[0]) ? CaseComparison.List(arguments[0]) : arguments;
}
