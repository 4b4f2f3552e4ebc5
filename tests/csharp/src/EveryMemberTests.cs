// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using Xunit;

namespace Heed.Tests;

/// <summary>Every public member of the classes of arrays, called with nothing and on what is disposed: it throws what
/// it says, and never NullReferenceException or worse. Those that take spans have tests of their own.</summary>
public sealed class EveryMemberTests : IDisposable
{
    private const BindingFlags Own =
        BindingFlags.Public | BindingFlags.Instance | BindingFlags.Static | BindingFlags.DeclaredOnly;

    private static readonly Type[] Types =
    {
        typeof(NDManager), typeof(NDArray), typeof(NDList), typeof(Shape), typeof(Device), typeof(ContextOptions),
        typeof(Workspace), typeof(DataTypeExtensions),
    };

    /// <summary>What a disposed object still answers.</summary>
    private static readonly string[] ForEver =
    {
        "Dispose", "ToString", "Equals", "GetHashCode", "get_Manager", "get_Name", "set_Name", "get_IsReleased",
        "get_IsOpen", "get_ParentManager", "NDManager.get_Device",
    };

    private readonly NDManager manager = NDManager.NewBaseManager();
    private readonly TestFolder folder = new TestFolder();

    public void Dispose()
    {
        manager.Dispose();
        folder.Dispose();
    }

    [Fact]
    public void NothingCrashesOnNothing()
    {
        int calls = 0;
        foreach (MethodBase member in Types.SelectMany(Members))
        {
            object?[] nothing = member.GetParameters().Select(parameter => Nothing(parameter.ParameterType)).ToArray();
            Exception? error = Call(member, member.IsStatic ? null : Fresh(member.DeclaringType!), nothing);
            calls++;
            bool isFitting = error is null or ArgumentException or InvalidOperationException or NotSupportedException
                or IndexOutOfRangeException or OverflowException or IOException or HeedException;
            Assert.True(isFitting, $"{member.DeclaringType}.{member}: {error}");

            // Where a reference must not be null, it is said which.
            ParameterInfo? needed = member.GetParameters().FirstOrDefault(MustNotBeNull);
            if (needed != null && member.Name != "Equals")
            {
                Assert.True(error is ArgumentNullException, $"{member.DeclaringType}.{member}: {error}");
            }
        }
        Assert.InRange(calls, 120, 1000);
    }

    [Fact]
    public void WhatIsDisposedSaysSo()
    {
        foreach (Type type in new[] { typeof(NDManager), typeof(NDArray), typeof(Workspace) })
        {
            foreach (MethodBase member in Members(type).Where(member => !member.IsStatic && !member.IsConstructor))
            {
                object disposed = Fresh(type);
                ((IDisposable)disposed).Dispose();
                object?[] valid = member.GetParameters().Select(parameter => Valid(parameter.ParameterType)).ToArray();
                Exception? error = Call(member, disposed, valid);
                bool isForEver = ForEver.Contains(member.Name) || ForEver.Contains(type.Name + "." + member.Name);
                Assert.True(
                    isForEver ? error is null : error is ObjectDisposedException, $"{type}.{member}: {error}");
                if (!isForEver)
                {
                    Assert.Contains(" is closed", error!.Message);
                }
            }
        }
    }

    private static IEnumerable<MethodBase> Members(Type type) => type.GetMethods(Own)
        .Select(method => method.IsGenericMethod ? method.MakeGenericMethod(typeof(float)) : method)
        .Concat<MethodBase>(type.GetConstructors())
        .Where(member => !member.GetParameters().Any(parameter => parameter.ParameterType.IsByRefLike));

    private static object? Nothing(Type type) => type.IsValueType ? Activator.CreateInstance(type) : null;

    private static bool MustNotBeNull(ParameterInfo parameter) =>
        !parameter.ParameterType.IsValueType
        && new NullabilityInfoContext().Create(parameter).WriteState == NullabilityState.NotNull;

    private static Exception? Call(MethodBase member, object? target, object?[] arguments)
    {
        try
        {
            _ = member is ConstructorInfo made ? made.Invoke(arguments) : member.Invoke(target, arguments);
            return null;
        }
        catch (TargetInvocationException error)
        {
            return error.InnerException;
        }
    }

    private object Fresh(Type type) =>
        type == typeof(NDManager) ? manager.NewSubManager()
        : type == typeof(NDArray) ? manager.Ones(new Shape(2, 2))
        : type == typeof(NDList) ? new NDList(manager.Ones(new Shape(2)))
        : type == typeof(Workspace) ? manager.NewWorkspace(1)
        : type == typeof(Shape) ? new Shape(2, 2)
        : type == typeof(Device) ? Device.Cpu()
        : new ContextOptions();

    private object? Valid(Type type) =>
        type == typeof(NDManager) ? manager
        : type == typeof(NDArray) ? manager.Ones(new Shape(2, 2))
        : type == typeof(Shape) ? new Shape(1)
        : type == typeof(string) ? folder["file"]
        : type == typeof(float) ? 1f
        : type == typeof(float[][]) ? new[] { new float[1] }
        : type == typeof(float[,]) ? new float[1, 1]
        : type == typeof(Memory<float>) ? new float[1].AsMemory()
        : type.IsArray ? Array.CreateInstance(type.GetElementType()!, 1)
        : Nothing(type);
}
