// SPDX-License-Identifier: Apache-2.0
// Multi-head attention composed of other blocks, as section 10.5 of "Dive into Deep Learning" (d2l-java) defines it,
// beside heed's own MultiHeadAttention: with the same parameters both give the same numbers.
//
//   run define_attention
using System;
using Heed;

internal static class DefineAttentionExample
{
    internal static int Main() => Compare(numHiddens: 100, numHeads: 5) ? 0 : 1;

    /// <summary>Returns whether both blocks give the same.</summary>
    private static bool Compare(int numHiddens, int numHeads)
    {
        using NDManager manager = NDManager.NewBaseManager();
        using ComposedAttention composed = new ComposedAttention(numHiddens, numHeads, 0.5f, false);
        using MultiHeadAttention own = new MultiHeadAttention(numHiddens, numHeads, 0.5f, false);
        NDArray queries = manager.RandomNormal(new Shape(2, 4, numHiddens));
        NDArray keys = manager.RandomNormal(new Shape(2, 6, numHiddens));
        NDList input = new NDList(queries, keys, keys, manager.Create(new float[] { 3, 2 }));

        composed.Initialize(manager, DataType.Float32, input.GetShapes());
        foreach (Pair<string, Parameter> parameter in composed.Parameters)
        {
            // "01W_q_weight" here is "W_q.weight" there.
            string name = parameter.Key[2..].Replace("_weight", ".weight");
            own.Parameters[name].SetArray(parameter.Value.Array);
        }

        ParameterStore ps = new ParameterStore(manager, false);
        NDArray result = composed.Forward(ps, input, training: false).SingletonOrThrow();
        NDArray expected = own.Forward(ps, input, training: false).SingletonOrThrow();
        NDArray weights = composed.Attention.AttentionWeights!;
        bool isSameResult = result.ContentEquals(expected);
        bool isSameWeights = weights.ContentEquals(own.Attention.AttentionWeights!);
        Console.WriteLine($"output {result.Shape}: {Describe(isSameResult)}");
        Console.WriteLine($"attention weights {weights.Shape}: {Describe(isSameWeights)}");
        return isSameResult && isSameWeights;
    }

    private static string Describe(bool isSame) =>
        (isSame ? "the same" : "NOT the same") + " as heed's own block's, bit by bit";

    /// <summary>Four linear layers around a dot-product attention. Its batch axis holds all heads.</summary>
    private sealed class ComposedAttention : AbstractBlock
    {
        private readonly int numHeads;
        private readonly Linear queryProjection;
        private readonly Linear keyProjection;
        private readonly Linear valueProjection;
        private readonly Linear outputProjection;

        public ComposedAttention(int numHiddens, int numHeads, float dropout, bool useBias)
        {
            this.numHeads = numHeads;
            queryProjection = AddChildBlock("W_q", new Linear(numHiddens, useBias));
            keyProjection = AddChildBlock("W_k", new Linear(numHiddens, useBias));
            valueProjection = AddChildBlock("W_v", new Linear(numHiddens, useBias));
            outputProjection = AddChildBlock("W_o", new Linear(numHiddens, useBias));

            // The book has it among the children, too; the attention drops weights by itself.
            AddChildBlock("dropout", new Dropout(dropout));
            Attention = AddChildBlock("attention", new DotProductAttention(dropout));
        }

        public DotProductAttention Attention { get; }

        /// <summary>The output projection's input has this shape as well: numHiddens is its size and that of its
        /// result.</summary>
        public override Shape[] GetOutputShapes(Shape?[] inputShapes, DataType[]? dataTypes = null) =>
            queryProjection.GetOutputShapes([inputShapes[0]]);

        protected override NDList ForwardInternal(
            ParameterStore ps, NDList inputs, bool training, PairList<string, object>? parameters)
        {
            // (batch, queries or keys, numHiddens) becomes (batch * heads, queries or keys, numHiddens / heads).
            NDArray queries = Project(queryProjection, ps, inputs[0], training);
            NDArray keys = Project(keyProjection, ps, inputs[1], training);
            NDArray values = Project(valueProjection, ps, inputs[2], training);

            // Every head has the length of its batch element.
            NDArray validLens = inputs[3].Repeat(0, numHeads);

            NDList heads = Attention.Forward(ps, new NDList(queries, keys, values, validLens), training, parameters);
            NDArray joined = Chap10Utils.TransposeOutput(heads.SingletonOrThrow(), numHeads);
            return outputProjection.Forward(ps, new NDList(joined), training, parameters);
        }

        protected override void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes)
        {
            queryProjection.Initialize(manager, dataType, inputShapes[0]);
            keyProjection.Initialize(manager, dataType, inputShapes[1]);
            valueProjection.Initialize(manager, dataType, inputShapes[2]);
            outputProjection.Initialize(manager, dataType, GetOutputShapes(inputShapes));
        }

        private NDArray Project(Linear projection, ParameterStore ps, NDArray input, bool training)
        {
            NDArray projected = projection.Forward(ps, new NDList(input), training).SingletonOrThrow();
            return Chap10Utils.TransposeQkv(projected, numHeads);
        }
    }
}
