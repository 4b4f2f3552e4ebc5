// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Heed;

/// <summary>Frees the arrays that are made on one thread between its opening and its end: those that the manager of
/// <see cref="NDManager.NewScope"/> makes, and results and views of arrays that belong to it. <see cref="Keep"/> lifts
/// one out: <c>using NDScope scope = manager.NewScope(); ... return scope.Keep(mean);</c>.</summary>
/// <remarks>Arrays on other threads, and those of other managers, sub-managers included, are not affected: a scope must
/// not be open across an await, after which the method may go on on another thread. Neither are the parameters of blocks
/// that are initialized or loaded meanwhile, workspaces and caches. Scopes may be nested: arrays then belong to the
/// innermost one, from which Keep moves them to the one around it. Disposing a scope disposes those that were opened in
/// it; disposing the manager disposes all. A scope that is never disposed lasts until then.</remarks>
public sealed class NDScope : IDisposable
{
    /// <summary>Those of this thread, the innermost last. Some may be disposed already.</summary>
    [ThreadStatic]
    private static List<NDScope>? open;

    /// <summary>The manager whose arrays the scope takes.</summary>
    private readonly NDManager of;

    /// <summary>What owned its arrays before, and owns them when they are kept.</summary>
    private readonly NDManager outside;

    internal NDScope(NDManager of, NDManager outside, NDManager manager)
    {
        this.of = of;
        this.outside = outside;
        Manager = manager;
        RemoveClosed();
        open ??= new();
        open.Add(this);
    }

    /// <summary>The manager that owns the arrays of the scope, a sub-manager of the one that the scope was opened on.
    /// What it makes belongs to the innermost scope, too.</summary>
    public NDManager Manager { get; }

    /// <summary>Moves an array out of the scope: it then belongs to the scope around this one, or else to the manager
    /// that the scope was opened on.</summary>
    /// <param name="array">An array of this scope. One that belongs to what is around the scope stays as it is, such as
    /// the result of a conversion that had nothing to do.</param>
    /// <returns>The array.</returns>
    /// <exception cref="ArgumentException">It belongs to another manager, or to a scope inside this one.</exception>
    /// <exception cref="ObjectDisposedException">The array or the scope is disposed.</exception>
    public NDArray Keep(NDArray array)
    {
        _ = array ?? throw new ArgumentNullException(nameof(array));
        if (!Manager.IsOpen)
        {
            throw new ObjectDisposedException(nameof(NDScope), "the scope is closed");
        }
        NDArray.TensorOf(array, nameof(array));
        NDManager owner = array.Manager;
        if (owner.Home == Manager)
        {
            array.Attach(outside.On(owner.Device));
        }
        else if (!IsAround(owner.Home))
        {
            string found = owner.Home.Base == of ? "a scope inside this one" : "another manager";
            throw new ArgumentException($"array belongs to {found}, expected an array of this scope", nameof(array));
        }
        return array;
    }

    /// <summary>Frees the arrays of the scope. A second call does nothing.</summary>
    public void Dispose()
    {
        Manager.Dispose();
        RemoveClosed();
    }

    /// <summary>What owns the arrays of a manager that are made now on this thread; null: the manager itself.</summary>
    internal static NDManager? Innermost(NDManager of)
    {
        for (int i = (open?.Count ?? 0) - 1; i >= 0; i--)
        {
            NDScope scope = open![i];
            if (scope.of == of && scope.Manager.IsOpen)
            {
                return scope.Manager;
            }
        }
        return null;
    }

    private bool IsAround(NDManager owner)
    {
        NDManager? around = Manager.ParentManager;
        while (around is not null && around != owner)
        {
            around = around.ParentManager;
        }
        return around == owner || outside == owner;
    }

    private static void RemoveClosed()
    {
        open?.RemoveAll(scope => !scope.Manager.IsOpen);
        open = open?.Count == 0 ? null : open;
    }
}
