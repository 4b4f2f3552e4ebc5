// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed.Tests;

/// <summary>scale * dropout(linear(x)): a block with a parameter of its own and two children.</summary>
internal sealed class ScaledBlock : AbstractBlock
{
    private readonly Linear inner;
    private readonly Dropout dropout;
    private readonly Parameter scale;

    internal ScaledBlock(long units = 2, byte version = 4, float rate = 0.5f)
        : base(version)
    {
        scale = AddParameter(new Parameter("scale", ParameterType.Gamma));
        inner = AddChildBlock("inner", new Linear(units));
        dropout = AddChildBlock("größe €\U0001d11e", new Dropout(rate));
        Units = units;
    }

    internal long Units { get; }

    internal int Prepared { get; private set; }

    internal int Before { get; private set; }

    internal PairList<string, object>? Given { get; private set; }

    public override Shape[] GetOutputShapes(Shape?[] inputShapes, DataType[]? dataTypes = null) =>
        inner.GetOutputShapes(inputShapes, dataTypes);

    internal void AddScaleAgain() => AddParameter(new Parameter("scale"));

    internal void Add(Block block) => AddChildBlock("more", block);

    internal void AddNothing(bool name) => AddChildBlock(name ? "x" : null!, name ? null! : new Dropout());

    protected override void BeforeInitialize(params Shape?[] inputShapes) => Before++;

    protected override void Prepare(Shape?[] inputShapes)
    {
        Prepared++;
        scale.SetShape(new Shape(Units));
    }

    protected override void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes) =>
        inner.Initialize(manager, dataType, inputShapes);

    protected override NDList ForwardInternal(
        ParameterStore parameterStore, NDList inputs, bool training, PairList<string, object>? parameters)
    {
        Given = parameters;
        NDList hidden = dropout.Forward(parameterStore, inner.Forward(parameterStore, inputs, training), training);
        float[] factors = scale.Array.ToFloatArray();
        var factor = new float[Units * Units];
        for (int i = 0; i < Units; i++)
        {
            factor[(i * Units) + i] = factors[i];
        }
        return new NDList(hidden.Head.MatMul(hidden.Head.Manager.Create(factor, new Shape(Units, Units))));
    }
}

/// <summary>A block with a linear layer, and a parameter for each column of the input. It may fail after initializing
/// the layer.</summary>
internal sealed class TableBlock : AbstractBlock
{
    internal TableBlock()
    {
        Rows = AddParameter(new Parameter(nameof(Rows), ParameterType.Gamma));
        Linear = AddChildBlock("linear", new Linear(2));
    }

    internal Parameter Rows { get; }

    internal Linear Linear { get; }

    internal bool HasRows { get; set; } = true;

    internal bool Fails { get; set; }

    protected override void Prepare(Shape?[] inputShapes)
    {
        if (HasRows)
        {
            Rows.SetShape(new Shape(inputShapes[0]!.Tail));
        }
    }

    protected override void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes)
    {
        Linear.Initialize(manager, dataType, inputShapes);
        if (Fails)
        {
            throw new ArgumentException("enough");
        }
    }

    protected override NDList ForwardInternal(
        ParameterStore parameterStore, NDList inputs, bool training, PairList<string, object>? parameters) =>
        Linear.Forward(parameterStore, inputs, training);
}

/// <summary>A block that does not report its children as it must.</summary>
internal sealed class SilentBlock : AbstractBlock
{
    internal SilentBlock(bool hasChild)
    {
        if (hasChild)
        {
            AddChildBlock("linear", new Linear(2));
        }
    }

    protected override NDList ForwardInternal(
        ParameterStore parameterStore, NDList inputs, bool training, PairList<string, object>? parameters) => inputs;
}

/// <summary>A block that calls a function, with any children.</summary>
internal sealed class FunctionBlock : AbstractBlock
{
    private readonly Func<FunctionBlock, NDList, NDList?> function;

    internal FunctionBlock(Func<FunctionBlock, NDList, NDList?> function)
    {
        this.function = function;
    }

    internal void Add(Block block) => AddChildBlock("inside", block);

    protected override void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes)
    {
        foreach (Pair<string, Block> child in Children)
        {
            child.Value.Initialize(manager, dataType, inputShapes);
        }
    }

    protected override NDList ForwardInternal(
        ParameterStore parameterStore, NDList inputs, bool training, PairList<string, object>? parameters) =>
        function(this, inputs)!;
}

/// <summary>An initializer that calls a function.</summary>
internal sealed class FunctionInitializer : Initializer
{
    private readonly Func<NDManager, Shape, DataType, NDArray> function;

    internal FunctionInitializer(Func<NDManager, Shape, DataType, NDArray> function)
    {
        this.function = function;
    }

    public override NDArray Initialize(NDManager manager, Shape shape, DataType dataType) =>
        function(manager, shape, dataType);
}
