// SPDX-License-Identifier: Apache-2.0
using System;
using Xunit;

[assembly: CollectionBehavior(DisableTestParallelization = true)]

namespace Heed.Tests;

/// <summary>The program that tests run in new processes: without arguments for LoadingTests, with "members" the list
/// for tests/bindings, with another argument a task of ChildProcess.</summary>
internal static class Program
{
    private static void Main(string[] arguments)
    {
        if (arguments is ["members"])
        {
            MemberList.Print();
            return;
        }
        if (arguments is [var task])
        {
            ChildProcess.Do(task);
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
