// SPDX-License-Identifier: Apache-2.0
using System;
using Xunit;

[assembly: CollectionBehavior(DisableTestParallelization = true)]

namespace Heed.Tests;

/// <summary>What tests run in processes of their own: "members" for tests/bindings, a task of ChildProcess, or nothing for
/// LoadingTests.</summary>
internal static class Program
{
    private static void Main(string[] task)
    {
        if (task is [MemberList.Task])
        {
            MemberList.Print();
            return;
        }
        if (task.Length > 0)
        {
            ChildProcess.Do(task[0]);
            return;
        }
        for (int attempt = 0; attempt < 2; attempt++)
        {
            try
            {
                using NDManager manager = NDManager.NewBaseManager();
                Console.WriteLine(manager.Ones(new Shape(2)).Shape);
            }
            catch (DllNotFoundException error)
            {
                Console.WriteLine(error.Message.ReplaceLineEndings(" "));
            }
        }
    }
}
