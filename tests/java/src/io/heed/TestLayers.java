// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Native layers without a block. */
final class TestLayers {
    private TestLayers() {}

    /** A linear layer whose weight is of shape (2, 3), and which has no bias. */
    static NativeLayer linear(NativeContext context) {
        NativeLayer layer = Linear.builder().setUnits(2).optBias(false).build().newLayer(context);
        try (LayerCall call = LayerCall.in(context)) {
            call.read(context, new Shape[] {new Shape(1, 3)}, index -> DataType.FLOAT32).initialize(layer, 0);
        }
        return layer;
    }

    static NativeTensor shapeOnly(NativeContext context, DataType dataType, long... dims) {
        return NativeTensor.wrap(context, dataType.code, dims, null);
    }
}
