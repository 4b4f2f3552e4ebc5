// SPDX-License-Identifier: Apache-2.0
using System;
using System.Globalization;
using BenchmarkDotNet.Attributes;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Diagnosers;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Reports;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Toolchains.InProcess.Emit;
using Perfolizer.Horology;
using Heed;

/// <summary>The calls of call_cost.c, from C#. Prints a line for each layer and form, "layer form nanoseconds bytes",
/// where bytes is what one call allocates on the managed heap. With --quick each call is made once, and the numbers
/// have no meaning.</summary>
public class CallCost
{
    private NDManager manager = null!;
    private MultiHeadAttention attention = null!;
    private NDList words = null!;
    private ParameterStore store = null!;
    private AttentionInputs inputs = null!;
    private AttentionOutputs outputs = null!;
    private Workspace workspace = null!;
    private NDArray a = null!;
    private NDArray b = null!;
    private NDArray sum = null!;
    private bool isArray;

    [Params("toy", "least", "array")]
    public string Layer { get; set; } = "";

    public static void Main(string[] arguments)
    {
        Job measured = arguments is ["--quick"]
            ? Job.Dry
            : Job.Default.WithWarmupCount(5).WithIterationCount(15)
                .WithIterationTime(TimeInterval.FromMilliseconds(100));
        IConfig config = ManualConfig.CreateEmpty()
            .AddJob(measured.WithToolchain(InProcessEmitToolchain.Instance))
            .AddDiagnoser(MemoryDiagnoser.Default)
            .AddLogger(NullLogger.Instance)
            .WithOptions(ConfigOptions.DisableLogFile);
        foreach (BenchmarkReport report in BenchmarkRunner.Run<CallCost>(config).Reports)
        {
            string layer = (string)report.BenchmarkCase.Parameters["Layer"];
            string form = report.BenchmarkCase.Descriptor.WorkloadMethod.Name.ToLowerInvariant();
            double median = report.ResultStatistics?.Median ?? double.NaN;
            long bytes = report.GcStats.GetBytesAllocatedPerOperation(report.BenchmarkCase) ?? -1;
            Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{layer} {form} {median:F1} {bytes}"));
        }
    }

    [GlobalSetup]
    public void SetUp()
    {
        (Shape shape, long numHeads) = Layer == "toy" ? (new Shape(2, 4, 100), 5) : (new Shape(1, 1, 1), 1);
        manager = NDManager.NewBaseManager();
        isArray = Layer == "array";
        (a, b, sum) = (manager.Ones(new Shape(2, 12)), manager.Ones(new Shape(2, 12)), manager.Zeros(new Shape(2, 12)));
        attention = new MultiHeadAttention(
            new MultiHeadAttentionOptions { NumHiddens = shape[2], NumHeads = numHeads });
        words = new NDList(manager.Ones(shape), manager.Ones(shape), manager.Ones(shape));
        attention.Initialize(manager, DataType.Float32, words.GetShapes());
        store = new ParameterStore(manager, false);
        inputs = new AttentionInputs(words[0]);
        outputs = attention.CreateOutputs(inputs);
        workspace = manager.NewWorkspace(attention.WorkspaceSize(inputs, outputs));
    }

    [GlobalCleanup]
    public void CleanUp() => manager.Dispose();

    [Benchmark]
    public void Reused()
    {
        if (isArray)
        {
            a.Add(b, sum);
        }
        else
        {
            attention.Forward(inputs, outputs, workspace);
        }
    }

    [Benchmark]
    public void New()
    {
        if (isArray)
        {
            a.Add(b).Dispose();
        }
        else
        {
            attention.Forward(store, words).Dispose();
        }
    }
}
