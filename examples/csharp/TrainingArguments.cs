// SPDX-License-Identifier: Apache-2.0
using System;
using System.Globalization;

/// <summary>The arguments of train_sequences.</summary>
internal sealed class TrainingArguments
{
    private TrainingArguments(string name, SequenceTask task, int numSteps, double leastRight)
    {
        Name = name;
        Task = task;
        NumSteps = numSteps;
        LeastRight = leastRight;
    }

    internal string Name { get; }

    internal SequenceTask Task { get; }

    /// <summary>Null: no picture.</summary>
    internal string? Picture { get; private set; }

    /// <summary>Null: no list.</summary>
    internal string? Losses { get; private set; }

    /// <summary>Null: nothing is kept.</summary>
    internal string? State { get; private set; }

    /// <summary>So many steps the task takes, if there is no other number.</summary>
    internal int NumSteps { get; private set; }

    /// <summary>The share of new sequences that is to be right at the end.</summary>
    internal double LeastRight { get; private set; }

    /// <summary>Null, and the usage is printed, if they are others.</summary>
    internal static TrainingArguments? Read(string[] args)
    {
        TrainingArguments? read = (args.Length > 0 ? args[0] : "") switch
        {
            "copy" => new TrainingArguments("copy", SequenceTask.Copy, 200, 0.97),
            "reverse" => new TrainingArguments("reverse", SequenceTask.Reverse, 400, 0.9),
            _ => null,
        };
        if (read?.ReadRest(args) == true)
        {
            return read;
        }
        Console.Error.WriteLine(
            "usage: train_sequences copy|reverse [PICTURE.svg] [--losses FILE.txt] [--steps NUMBER] [--state FOLDER]");
        return null;
    }

    private bool ReadRest(string[] args)
    {
        int next = 1;
        if (next < args.Length && !args[next].StartsWith("--", StringComparison.Ordinal))
        {
            Picture = args[next++];
        }
        for (; next + 1 < args.Length; next += 2)
        {
            if (!Set(args[next], args[next + 1]))
            {
                return false;
            }
        }
        return next == args.Length;
    }

    private bool Set(string option, string value)
    {
        switch (option)
        {
            case "--losses":
                Losses = value;
                return true;
            case "--state":
                State = value;
                return true;
            case "--steps":
                NumSteps = int.Parse(value, CultureInfo.InvariantCulture);
                LeastRight = 0; // Not the steps of the task.
                return true;
            default:
                return false;
        }
    }
}
