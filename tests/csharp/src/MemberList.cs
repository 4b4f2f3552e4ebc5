// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;

namespace Heed.Tests;

/// <summary>Prints the public members of Heed.dll for tests/bindings/members.py: a line "Type Supertype..." for each
/// public type, and "Type.Member" for each of its own and inherited members that are public or protected.</summary>
internal static class MemberList
{
    private const BindingFlags All = BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance
        | BindingFlags.Static | BindingFlags.FlattenHierarchy;

    internal static void Print()
    {
        foreach (Type type in typeof(NDManager).Assembly.GetExportedTypes().Where(type => !IsDelegate(type)))
        {
            Console.WriteLine(string.Join(" ", Supertypes(type).Prepend(type).Select(Name)));
            foreach (string member in type.GetMembers(All).Where(IsOffered).Select(Name).Distinct())
            {
                Console.WriteLine($"{Name(type)}.{member}");
            }
        }
    }

    private static bool IsDelegate(Type type) => typeof(Delegate).IsAssignableFrom(type);

    private static IEnumerable<Type> Supertypes(Type type)
    {
        for (Type? up = type.BaseType; up != null && IsOurs(up); up = up.BaseType)
        {
            yield return up;
        }
    }

    private static bool IsOurs(Type type) => type.Assembly == typeof(NDManager).Assembly;

    private static bool IsOffered(MemberInfo member) => IsOurs(member.DeclaringType!) && member switch
    {
        ConstructorInfo constructor => IsVisible(constructor) && !constructor.IsStatic,
        MethodInfo method => IsVisible(method) && !method.IsSpecialName,
        PropertyInfo property => property.GetAccessors(nonPublic: true).Any(IsVisible),
        FieldInfo field => (field.IsPublic || field.IsFamily) && !field.IsSpecialName,
        _ => false,
    };

    private static bool IsVisible(MethodBase method) => method.IsPublic || method.IsFamily || method.IsFamilyOrAssembly;

    private static string Name(Type type) =>
        (type.DeclaringType == null ? string.Empty : Name(type.DeclaringType) + "+") + type.Name.Split('`')[0];

    private static string Name(MemberInfo member) => member is ConstructorInfo ? "new" : member.Name.Split('.')[^1];
}
