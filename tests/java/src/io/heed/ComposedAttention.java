// SPDX-License-Identifier: Apache-2.0
package io.heed;

/**
 * Multi-head attention as a program in the style of d2l composes it: four linear layers, dot-product attention with the
 * heads in the batch axis, and a dropout that is never used.
 */
class ComposedAttention extends AbstractBlock {
    public final DotProductAttention attention;
    private final int heads;
    private final Linear[] projections = new Linear[3];
    private final Linear output;

    ComposedAttention(int numHiddens, int numHeads, float dropout, boolean useBias) {
        heads = numHeads;
        attention = new DotProductAttention(dropout);
        String[] names = {"W_q", "W_k", "W_v"};
        for (int i = 0; i < names.length; i++) {
            projections[i] = addChildBlock(
                    names[i], Linear.builder().setUnits(numHiddens).optBias(useBias).build());
        }
        output = Linear.builder().setUnits(numHiddens).optBias(useBias).build();
        addChildBlock("W_o", output);
        addChildBlock("dropout", Dropout.builder().optRate(dropout).build());
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
        NDList attended = new NDList();
        for (int i = 0; i < projections.length; i++) {
            attended.add(split(projections[i].forward(ps, new NDList(inputs.get(i)), training, params).get(0)));
        }
        attended.add(inputs.get(3).repeat(0, heads));
        NDArray heads = attention.forward(ps, attended, training, params).get(0);
        NDArray joined = Chap10Utils.transposeOutput(heads, this.heads);
        return new NDList(output.forward(ps, new NDList(joined), training, params).get(0));
    }

    @Override
    public void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        try (NDManager sub = manager.newSubManager()) {
            ParameterStore ps = new ParameterStore(sub, false);
            NDList attended = new NDList();
            for (int i = 0; i < projections.length; i++) {
                NDArray input = sub.zeros(inputShapes[i], dataType);
                projections[i].initialize(manager, dataType, input.getShape());
                attended.add(split(projections[i].forward(ps, new NDList(input), false).get(0)));
            }
            NDArray validLens = sub.zeros(inputShapes[3], dataType);
            attended.add(validLens.repeat(0, heads));
            attention.initialize(sub, dataType, attended.getShapes());
            NDArray joined = Chap10Utils.transposeOutput(attention.forward(ps, attended, false).head(), heads);
            output.initialize(manager, dataType, joined.getShape());
        }
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        throw new UnsupportedOperationException();
    }

    private NDArray split(NDArray x) {
        x = x.reshape(x.getShape().get(0), x.getShape().get(1), heads, -1);
        x = x.transpose(0, 2, 1, 3);
        return x.reshape(-1, x.getShape().get(2), x.getShape().get(3));
    }
}
