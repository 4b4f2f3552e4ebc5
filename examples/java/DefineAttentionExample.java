// SPDX-License-Identifier: Apache-2.0
import io.heed.AbstractBlock;
import io.heed.Chap10Utils;
import io.heed.DataType;
import io.heed.DotProductAttention;
import io.heed.Linear;
import io.heed.MultiHeadAttention;
import io.heed.NDArray;
import io.heed.NDList;
import io.heed.NDManager;
import io.heed.Pair;
import io.heed.PairList;
import io.heed.Parameter;
import io.heed.ParameterStore;
import io.heed.Shape;

/**
 * Multi-head attention composed of other blocks, as section 10.5 of "Dive into Deep Learning" (d2l-java) defines
 * it, beside heed's own MultiHeadAttention: with the same parameters both give the same numbers.
 *
 * <pre>
 * run define_attention
 * </pre>
 */
public class DefineAttentionExample {
    /** Four linear layers around a dot-product attention. Its batch axis holds all heads. */
    static class ComposedAttention extends AbstractBlock {
        final DotProductAttention attention;
        private final int numHeads;
        private final Linear queryProjection;
        private final Linear keyProjection;
        private final Linear valueProjection;
        private final Linear outputProjection;

        ComposedAttention(int numHiddens, int numHeads, float dropout, boolean useBias) {
            this.numHeads = numHeads;
            attention = addChildBlock("attention", new DotProductAttention(dropout));
            queryProjection = addChildBlock("W_q", linear(numHiddens, useBias));
            keyProjection = addChildBlock("W_k", linear(numHiddens, useBias));
            valueProjection = addChildBlock("W_v", linear(numHiddens, useBias));
            outputProjection = addChildBlock("W_o", linear(numHiddens, useBias));
        }

        private static Linear linear(int units, boolean useBias) {
            return Linear.builder().setUnits(units).optBias(useBias).build();
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            // (batch, queries or keys, numHiddens) becomes (batch * heads, queries or keys, numHiddens / heads).
            NDArray queries = project(queryProjection, ps, inputs.get(0), training);
            NDArray keys = project(keyProjection, ps, inputs.get(1), training);
            NDArray values = project(valueProjection, ps, inputs.get(2), training);
            // Every head has the length of its batch element.
            NDArray validLens = inputs.get(3).repeat(0, numHeads);

            NDList heads = attention.forward(ps, new NDList(queries, keys, values, validLens), training, params);
            NDArray joined = Chap10Utils.transposeOutput(heads.singletonOrThrow(), numHeads);
            return outputProjection.forward(ps, new NDList(joined), training, params);
        }

        private NDArray project(Linear projection, ParameterStore ps, NDArray input, boolean training) {
            NDArray projected = projection.forward(ps, new NDList(input), training).singletonOrThrow();
            return Chap10Utils.transposeQkv(projected, numHeads);
        }

        @Override
        protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
            queryProjection.initialize(manager, dataType, inputShapes[0]);
            keyProjection.initialize(manager, dataType, inputShapes[1]);
            valueProjection.initialize(manager, dataType, inputShapes[2]);
            outputProjection.initialize(manager, dataType, getOutputShapes(inputShapes));
        }

        /** The output projection's input has this shape as well: numHiddens is its size and that of its result. */
        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return queryProjection.getOutputShapes(new Shape[] {inputShapes[0]});
        }
    }

    public static void main(String[] args) {
        System.exit(compare(100, 5) ? 0 : 1);
    }

    /** Returns whether both blocks give the same. */
    private static boolean compare(int numHiddens, int numHeads) {
        try (NDManager manager = NDManager.newBaseManager();
                ComposedAttention composed = new ComposedAttention(numHiddens, numHeads, 0.5f, false);
                MultiHeadAttention own = new MultiHeadAttention(numHiddens, numHeads, 0.5f, false)) {
            NDArray queries = manager.randomNormal(new Shape(2, 4, numHiddens));
            NDArray keys = manager.randomNormal(new Shape(2, 6, numHiddens));
            NDList input = new NDList(queries, keys, keys, manager.create(new float[] {3, 2}));

            composed.initialize(manager, DataType.FLOAT32, input.getShapes());
            for (Pair<String, Parameter> parameter : composed.getParameters()) {
                // "02W_q_weight" here is "W_q.weight" there.
                String name = parameter.getKey().substring(2).replace("_weight", ".weight");
                own.getParameters().get(name).setArray(parameter.getValue().getArray());
            }

            ParameterStore ps = new ParameterStore(manager, false);
            NDArray result = composed.forward(ps, input, false).singletonOrThrow();
            NDArray expected = own.forward(ps, input, false).singletonOrThrow();
            NDArray weights = composed.attention.attentionWeights;
            boolean sameResult = result.contentEquals(expected);
            boolean sameWeights = weights.contentEquals(own.attention.attentionWeights);
            System.out.println("output " + result.getShape() + ": " + describe(sameResult));
            System.out.println("attention weights " + weights.getShape() + ": " + describe(sameWeights));
            return sameResult && sameWeights;
        }
    }

    private static String describe(boolean same) {
        return (same ? "the same" : "NOT the same") + " as heed's own block's, bit by bit";
    }
}
