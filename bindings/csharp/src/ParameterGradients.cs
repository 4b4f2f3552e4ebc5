// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Heed;

/// <summary>The gradients of a list of parameters, for an optimizer: those of heed's own blocks by their layers, others
/// one by one. Used by one thread at a time.</summary>
internal sealed unsafe class ParameterGradients
{
    /// <summary>The blocks, in the order in which they are locked.</summary>
    private readonly List<(NativeBlock Block, string Prefix)> blocks = new();
    private readonly List<(Parameter Parameter, string Prefix)> own = new();
    private readonly HashSet<Parameter> listed = new();

    /// <summary>Of <see cref="own"/> those that require a gradient, in a call.</summary>
    private List<(Parameter Parameter, string Prefix)> trained = new();

    /// <summary>Groups the parameters.</summary>
    /// <exception cref="ArgumentException">There is no parameter, or the list lacks a parameter of a
    /// block that requires a gradient.</exception>
    internal ParameterGradients(ParameterList parameters)
    {
        _ = parameters ?? throw new ArgumentNullException(nameof(parameters));
        if (parameters.Count == 0)
        {
            throw new ArgumentException("parameters is empty, expected at least one", nameof(parameters));
        }
        foreach (Pair<string, Parameter> one in parameters)
        {
            if (!listed.Add(one.Value))
            {
                continue; // Of a block that stands in two others: the first name counts.
            }
            string prefix = PrefixOf(one.Key, one.Value.Name);
            if (one.Value is not NativeParameter native)
            {
                own.Add((one.Value, prefix));
            }
            else if (!blocks.Exists(each => ReferenceEquals(each.Block, native.Block)))
            {
                blocks.Add((native.Block, prefix));
            }
        }
        blocks.Sort((a, b) => a.Block.Order.CompareTo(b.Block.Order));
        blocks.ForEach(each => CheckAllListed(each.Block));
    }

    /// <summary>The context of the parameters, in which an optimizer is made.</summary>
    /// <exception cref="InvalidOperationException">A parameter has no values.</exception>
    internal NativeContext Context => blocks.Count > 0
        ? blocks[0].Block.OpenContext()
        : own[0].Parameter.Array.Manager.OpenContext();

    /// <summary>Sets all gradients to 0.</summary>
    internal void Zero() => WithSets(false, sets =>
    {
        foreach (NativeGradients set in sets)
        {
            set.Zero();
            set.SafeHandle.CountWrite();
        }
        return true;
    });

    /// <summary>Scales all gradients to a norm of at most this one, and returns the norm before.</summary>
    internal double ClipNorm(double maxNorm) => WithSets(false, sets =>
    {
        var pointers = new IntPtr[sets.Count];
        int held = 0;
        try
        {
            foreach (NativeGradients set in sets)
            {
                bool isHeld = false;
                set.SafeHandle.Open.DangerousAddRef(ref isHeld);
                pointers[held] = set.SafeHandle.DangerousGetHandle();
                held++;
            }
            fixed (IntPtr* first = pointers)
            {
                double norm = held == 0 ? 0 : HeedNative.HeedGradientsClip(first, held, maxNorm);
                sets.ForEach(set => set.SafeHandle.CountWrite());
                return norm;
            }
        }
        finally
        {
            while (held > 0)
            {
                held--;
                sets[held].SafeHandle.DangerousRelease();
            }
        }
    });

    /// <summary>Takes a step of all parameters: one native call, while no other call uses their blocks.</summary>
    internal void Step(NativeOptimizer optimizer)
    {
        blocks.ForEach(each => CheckAllListed(each.Block));
        if (!listed.Any(parameter => parameter.RequiresGradient))
        {
            throw new InvalidOperationException(
                "all parameters are frozen, expected at least one that requires a gradient");
        }
        WithSets(true, sets =>
        {
            using var parts = new StepParts();
            for (int i = 0; i < sets.Count; i++)
            {
                bool isOfBlock = i < blocks.Count;
                parts.Add(
                    isOfBlock ? blocks[i].Prefix : trained[i - blocks.Count].Prefix,
                    isOfBlock ? blocks[i].Block.ForStep().Layer : null,
                    sets[i]);
            }
            parts.Step(optimizer);
            trained.ForEach(each => each.Parameter.Array.CountWrite());
            return true;
        });
    }

    /// <summary>What stands before a parameter's name in its key.</summary>
    private static string PrefixOf(string key, string name)
    {
        for (int begin = 0; begin < key.Length; begin++)
        {
            string end = key.Substring(begin);
            if (name == end || name.EndsWith("." + end, StringComparison.Ordinal))
            {
                return key.Substring(0, begin);
            }
        }
        return key + ".";
    }

    private void CheckAllListed(NativeBlock block)
    {
        foreach (NativeParameter parameter in block.OwnParameters)
        {
            if (parameter.RequiresGradient && !listed.Contains(parameter))
            {
                throw new ArgumentException(
                    $"parameters lacks {parameter.Name}, which requires a gradient: expected all parameters of its block, "
                    + "or those that are not trained frozen",
                    "parameters");
            }
        }
    }

    /// <summary>Uses all sets while no other call uses the blocks.</summary>
    private T WithSets<T>(bool isStep, Func<List<NativeGradients>, T> use)
    {
        int entered = 0;
        bool isDone = false;
        try
        {
            foreach (var (block, _) in blocks)
            {
                block.EnterStep();
                entered++;
            }
            trained = own.FindAll(each => each.Parameter.RequiresGradient);
            List<NativeGradients> sets = blocks.ConvertAll(each => each.Block.ForStep().Set);
            sets.AddRange(trained.Select(each => each.Parameter.GradientSet));
            T result = use(sets);
            isDone = true;
            return result;
        }
        finally
        {
            while (entered > 0)
            {
                entered--;
                blocks[entered].Block.ExitStep(isStep && isDone);
            }
        }
    }
}
