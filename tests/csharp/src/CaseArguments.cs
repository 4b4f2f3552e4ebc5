// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;

namespace Heed.Tests;

/// <summary>A constant of an enumeration, whose type is the one that is expected where it stands.</summary>
internal sealed record CaseSymbol(string Name)
{
    internal bool Names(object? constant) => constant is Enum && CaseArguments.Plain($"{constant}") == CaseArguments.Plain(Name);
}

/// <summary>A null for a parameter of this type.</summary>
internal sealed record CaseNull(string Type);

/// <summary>The values of a case as the arguments of a member, and how well they fit it.</summary>
internal sealed class CaseArguments
{
    /// <summary>In place of what cannot be converted.</summary>
    private static readonly object No = new();

    private static readonly Dictionary<Type, string> Numbers = new()
    {
        [typeof(float)] = "float", [typeof(double)] = "double", [typeof(int)] = "int", [typeof(long)] = "long",
    };

    private CaseArguments(int count) => Values = new object?[count];

    internal object?[] Values { get; }

    internal int Cost { get; private set; }

    internal static string Plain(string name) => name.Replace("_", string.Empty).ToLowerInvariant();

    /// <summary>Null if an argument has no value of its parameter's type. The last parameter may take the rest.</summary>
    internal static CaseArguments? Convert(
        IReadOnlyList<object?> arguments, ParameterInfo[] parameters, IReadOnlyDictionary<string, object?> named)
    {
        var converted = new CaseArguments(parameters.Length);
        bool takesRest = parameters.Length > 0 && parameters[^1].IsDefined(typeof(ParamArrayAttribute));
        if (arguments.Count > parameters.Length && !takesRest)
        {
            return null;
        }
        foreach (ParameterInfo parameter in parameters)
        {
            int i = parameter.Position;
            Type type = parameter.ParameterType;
            if (takesRest && i == parameters.Length - 1
                && !(arguments.Count == parameters.Length && IsWhole(arguments[i], type)))
            {
                converted.Cost++;
                converted.Values[i] = converted.Convert(arguments.Skip(i).ToList(), type);
            }
            else if (i < arguments.Count || named.ContainsKey(parameter.Name!))
            {
                converted.Values[i] = converted.Convert(i < arguments.Count ? arguments[i] : named[parameter.Name!], type);
            }
            else if (parameter.HasDefaultValue)
            {
                converted.Cost++;
                converted.Values[i] = parameter.DefaultValue is null && type.IsValueType ? Activator.CreateInstance(type)
                    : parameter.DefaultValue;
            }
            else
            {
                return null;
            }
            if (converted.Values[i] == No)
            {
                return null;
            }
        }
        return converted;
    }

    /// <summary>One value for a parameter or a property; false if it has none of this type.</summary>
    internal static bool TryConvert(object? value, Type type, out object? converted)
    {
        converted = new CaseArguments(0).Convert(value, type);
        return converted != No;
    }

    private static bool IsWhole(object? value, Type type) =>
        value is List<object?> or CaseNull || type.IsInstanceOfType(value);

    private object? At(int price, object? value)
    {
        Cost += price;
        return value;
    }

    private object? Convert(object? value, Type type)
    {
        if (type.IsByRefLike || type.IsPointer)
        {
            return No;
        }
        if (Nullable.GetUnderlyingType(type) is Type inner)
        {
            return value is null ? null : Convert(value, inner);
        }
        switch (value)
        {
            case null:
                return type.IsValueType ? No : At(type.IsArray ? 1 : 0, null);
            case CaseNull no:
                string name = type == typeof(string) ? "path"
                    : type.IsArray && Numbers.TryGetValue(type.GetElementType()!, out string? number) ? number + "[]" : type.Name;
                return !type.IsValueType && Plain(name).StartsWith(Plain(no.Type)) ? null : No;
            case CaseSymbol symbol:
                return type.IsEnum ? Constant(symbol, type) : No;
            case List<object?> list when type.IsEnum:
                object?[] flags = list.Select(each => Convert(each, type)).ToArray();
                return flags.Contains(No) ? No
                    : Enum.ToObject(type, flags.Aggregate(0L, (all, each) => all | System.Convert.ToInt64(each)));
            case List<object?> list when ElementOf(type) is Type element:
                var array = Array.CreateInstance(element, list.Count);
                for (int i = 0; i < list.Count; i++)
                {
                    object? each = Convert(list[i], element);
                    if (each == No)
                    {
                        return No;
                    }
                    array.SetValue(each, i);
                }
                return At(1, array);
            case long or int or float or double when type == typeof(Scalar):
                return value is long or int ? (Scalar)System.Convert.ToInt64(value) : (Scalar)System.Convert.ToDouble(value);
            case long or int or float or double when type.IsPrimitive:
                return Number(value, type);
            default:
                return type.IsInstanceOfType(value) ? At(type == value.GetType() ? 0 : 2, value) : No;
        }
    }

    private static Type? ElementOf(Type type) => type.IsArray && type.GetArrayRank() == 1 ? type.GetElementType()
        : type.IsInterface && type.IsGenericType && type.IsAssignableFrom(type.GetGenericArguments()[0].MakeArrayType())
            ? type.GetGenericArguments()[0] : null;

    private static object Constant(CaseSymbol symbol, Type type) =>
        Enum.GetValues(type).Cast<object>().FirstOrDefault(symbol.Names) ?? No;

    /// <summary>A whole number prefers long and int, any other one double and float.</summary>
    private object? Number(object value, Type type)
    {
        bool isWhole = value is long or int;
        long whole = isWhole ? System.Convert.ToInt64(value) : 0;
        return Numbers.GetValueOrDefault(type) switch
        {
            "long" => isWhole ? At(value is long ? 0 : 1, whole) : No,
            "int" => isWhole && whole == (int)whole ? At(value is int ? 0 : 1, (int)whole) : No,
            "float" => At(value is float ? 0 : isWhole ? 3 : 1, System.Convert.ToSingle(value)),
            "double" => At(value is double ? 0 : 2, System.Convert.ToDouble(value)),
            _ => No,
        };
    }
}
