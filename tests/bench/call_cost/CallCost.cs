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
    private NativeBlock trained = null!;
    private NDList rows = null!;
    private NDArray targets = null!;
    private AdamW optimizer = null!;

    [Params("toy", "least", "array", "encoder")]
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
            if (layer == "encoder" != (form == "step") && !(layer == "toy" && form == "step"))
            {
                continue; // Only the step of an encoder is measured, and no step of the others but the toy.
            }
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
        SetUpStep();
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

    private void SetUpStep()
    {
        bool isEncoder = Layer == "encoder";
        Shape shape = isEncoder ? new Shape(8, 64, 128) : new Shape(2, 4, 100);
        var options = new MultiHeadAttentionOptions { NumHiddens = shape[2], NumHeads = isEncoder ? 4 : 5 };
        NDArray input = manager.RandomNormal(shape);
        targets = manager.RandomNormal(shape);
        rows = isEncoder ? new NDList(input) : new NDList(input, input, input);
        trained = isEncoder
            ? new TransformerEncoder(new TransformerEncoderOptions
            {
                Layer = new TransformerEncoderBlockOptions
                {
                    Attention = options,
                    FeedForward = new FeedForwardOptions { HiddenSize = 512 },
                },
                NumLayers = 2,
            })
            : new MultiHeadAttention(options);
        trained.Initialize(manager, DataType.Float32, rows.GetShapes());
        store = new ParameterStore(manager, false);
        optimizer = new AdamW(trained.Parameters);
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

    [Benchmark]
    public void Step()
    {
        if (Layer is "array" or "least")
        {
            return;
        }
        using (GradientTape tape = manager.NewGradientTape())
        {
            using NDList outputs = trained.Forward(store, rows, training: true);
            using NDArray loss = Loss.SquaredError(outputs[0], targets);
            tape.Backward(loss);
        }
        optimizer.Step();
        optimizer.ZeroGradients();
    }
}
