// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Heed.Tests;

/// <summary>Calls heed's public members by the names that tests/bindings/cases has for them. What a member throws is the
/// inner exception of a TargetInvocationException.</summary>
internal static class CaseCalls
{
    private static readonly Dictionary<string, object?> None = new();

    /// <summary>The result of a member that has none.</summary>
    private static readonly object Nothing = new();

    private static readonly Dictionary<string, Type> Types =
        typeof(NDArray).Assembly.GetExportedTypes().Where(type => !type.IsNested).ToDictionary(type => type.Name);

    /// <summary>What one option of Java's builders sets.</summary>
    private static readonly Dictionary<string, string[]> Groups = new()
    {
        ["window"] = new[] { "Window", "WindowLeft", "WindowRight" },
        ["qkNorm"] = new[] { "QkNorm", "QkNormEpsilon" },
    };

    /// <summary>The names of .NET where they are not DJL's.</summary>
    private static readonly Dictionary<string, string[]> OtherNames = new()
    {
        ["close"] = new[] { "dispose" },
        ["size"] = new[] { "size", "getsize", "count" },
        ["sub"] = new[] { "subtract" },
        ["mul"] = new[] { "multiply" },
        ["div"] = new[] { "divide" },
        ["mod"] = new[] { "remainder" },
        ["neg"] = new[] { "negate" },
        ["ceil"] = new[] { "ceiling" },
        ["trunc"] = new[] { "truncate" },
    };

    internal static Type? TypeOf(string name) => Types.GetValueOrDefault(name);

    /// <summary>Calls a method, or reads a property or a field. The target may be a class.</summary>
    internal static object? Call(object target, string name, List<object?> arguments)
    {
        Type type = target as Type ?? target.GetType();
        if (target is Type && name == "options")
        {
            return Activator.CreateInstance(TypeOf(type.Name + "Options") ?? type)!;
        }
        if (name == "build" && type.Name.EndsWith("Options") && TypeOf(type.Name.Replace("Options", string.Empty)) is Type made)
        {
            return Invoke(made.GetConstructors(), null, arguments.Append(target).ToList(), None)
                ?? throw Lacks(type, name, arguments);
        }
        BindingFlags flags = BindingFlags.Public | (target is Type ? BindingFlags.Static : BindingFlags.Instance);
        object? self = target is Type ? null : target;
        string[] names = OtherNames.GetValueOrDefault(name) ?? new[] { name, "get" + name, "is" + name };
        foreach (string each in names)
        {
            string plain = CaseArguments.Plain(each);
            if (arguments.Count == 0 && type.GetProperties(flags).FirstOrDefault(
                property => CaseArguments.Plain(property.Name) == plain && property.GetIndexParameters().Length == 0)
                is PropertyInfo property)
            {
                return Read(property, self);
            }
            object? found = Invoke(
                type.GetMethods(flags).Where(method => CaseArguments.Plain(method.Name) == plain && !method.IsGenericMethod),
                self, arguments, None);
            if (found != null)
            {
                return found == Nothing ? null : found;
            }
        }
        throw Lacks(type, name, arguments);
    }

    /// <summary>Sets a property. A list may stand for several ones.</summary>
    internal static void Set(object target, string name, object? value)
    {
        Type type = target.GetType();
        if (value is List<object?> list && Groups.TryGetValue(name, out string[]? group))
        {
            for (int i = 0; i < list.Count; i++)
            {
                Set(target, group[i], list[i]);
            }
            return;
        }
        foreach (PropertyInfo property in type.GetProperties())
        {
            if (CaseArguments.Plain(property.Name) == CaseArguments.Plain(name) && property.CanWrite
                && CaseArguments.TryConvert(value, property.PropertyType, out object? converted))
            {
                property.GetSetMethod()!.Invoke(target, new[] { converted });
                return;
            }
        }
        if (name == "bias" && type.GetProperty("Biases") is PropertyInfo biases)
        {
            biases.SetValue(target, (bool)value! ? Bias.All : Bias.None);
            return;
        }
        Call(target, "Set" + name, new List<object?> { value });
    }

    internal static void SetAll(object target, Dictionary<string, object?> options)
    {
        foreach ((string name, object? value) in options)
        {
            Set(target, name, value);
        }
    }

    /// <summary>Makes an object: of its options, or with a constructor that has parameters of these names, or with
    /// properties of them.</summary>
    internal static object Make(Type type, List<object?> arguments, Dictionary<string, object?> named)
    {
        if (type.IsEnum)
        {
            return Enum.ToObject(type, (long)arguments[0]!);
        }
        if (named.Count > 0 && TypeOf(type.Name + "Options") is Type ofOptions)
        {
            object options = Activator.CreateInstance(ofOptions)!;
            SetAll(options, named);
            return Call(options, "build", arguments)!;
        }
        IEnumerable<ConstructorInfo> constructors = type.GetConstructors();
        IEnumerable<ConstructorInfo> naming = constructors.Where(
            constructor => named.Keys.All(name => constructor.GetParameters().Any(parameter => parameter.Name == name)));
        object? made = Invoke(naming, null, arguments, named);
        if (made is null)
        {
            made = Invoke(constructors, null, arguments, None) ?? throw Lacks(type, "new", arguments);
            SetAll(made, named);
        }
        return made;
    }

    /// <summary>An element by its index or name.</summary>
    internal static object? Element(object target, List<object?> indices) =>
        target is ITuple tuple ? tuple[(int)(long)indices[0]!]
        : target is Array array ? array.GetValue((long)indices[0]!)
        : Call(target, target is NDArray ? "Part" : "Item", indices);

    private static CaseMistakeException Lacks(Type type, string name, List<object?> arguments) =>
        new CaseMistakeException($"no {type.Name}.{name} for {string.Join(", ", arguments)}");

    private static object? Read(PropertyInfo property, object? target) => property.GetGetMethod()!.Invoke(target, null);

    /// <summary>Calls the member that the arguments fit best; null if they fit none.</summary>
    private static object? Invoke(
        IEnumerable<MethodBase> members, object? target, List<object?> arguments, IReadOnlyDictionary<string, object?> named)
    {
        (MethodBase? best, CaseArguments? fitting) = (null, null);
        foreach (MethodBase member in members)
        {
            CaseArguments? converted = CaseArguments.Convert(arguments, member.GetParameters(), named);
            if (converted != null && (fitting == null || converted.Cost < fitting.Cost))
            {
                (best, fitting) = (member, converted);
            }
        }
        return best switch
        {
            null => null,
            ConstructorInfo constructor => constructor.Invoke(fitting!.Values),
            _ => best.Invoke(target, fitting!.Values) ?? Nothing,
        };
    }
}
