// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** A layer's inputs for the calls that are not pressed for time. Null where not given. */
final class NativeInputs implements AutoCloseable {
    /** The type of each input. */
    interface Types {
        DataType of(int index);
    }

    private final NativeTensor queries;
    private final NativeTensor keys;
    private final NativeTensor values;
    private final NativeTensor validLens;
    private final NativeTensor mask;
    private final NativeTensor bias;

    NativeInputs(
            NativeTensor queries,
            NativeTensor keys,
            NativeTensor values,
            NativeTensor validLens,
            NativeTensor mask,
            NativeTensor bias) {
        this.queries = queries;
        this.keys = keys;
        this.values = values;
        this.validLens = validLens;
        this.mask = mask;
        this.bias = bias;
    }

    static NativeInputs of(AttentionInputs inputs) {
        return new NativeInputs(
                NDArray.tensorOf(inputs.getQueries(), "queries"),
                NDArray.tensorOf(inputs.getKeys(), "keys"),
                NDArray.tensorOf(inputs.getValues(), "values"),
                NDArray.tensorOf(inputs.getValidLens(), "validLens"),
                NDArray.tensorOf(inputs.getMask(), "mask"),
                NDArray.tensorOf(inputs.getBias(), "bias"));
    }

    /** Up to four inputs that have shapes only, which the caller closes. A null shape, or none, is no input. */
    static NativeInputs ofShapes(NativeContext context, Shape[] shapes, Types types) {
        NativeTensor[] made = new NativeTensor[4];
        try {
            for (int i = 0; i < shapes.length; i++) {
                made[i] = shapes[i] == null
                        ? null
                        : NativeTensor.shapeOnly(context, types.of(i).code, shapes[i].dims());
            }
            return new NativeInputs(made[0], made[1], made[2], made[3], null, null);
        } catch (Throwable error) {
            closeAll(made);
            throw error;
        }
    }

    static long[] dimsOf(NativeTensor tensor) {
        long[] dims = new long[tensor.rank()];
        for (int axis = 0; axis < dims.length; axis++) {
            dims[axis] = tensor.dim(axis);
        }
        return dims;
    }

    void initialize(NativeLayer layer, long seed) {
        layer.initializeFor(queries, keys, values, validLens, mask, bias, seed);
    }

    NativeTensor createOutput(NativeLayer layer, Wanted wanted) {
        return layer.createOutput(queries, keys, values, validLens, mask, bias, wanted.bit);
    }

    long workspaceBytes(NativeLayer layer, AttentionOutputs outputs) {
        return layer.workspaceBytes(
                queries,
                keys,
                values,
                validLens,
                mask,
                bias,
                NDArray.tensorOf(outputs.getOutput(), "output"),
                NDArray.tensorOf(outputs.getWeights(), "weights"),
                NDArray.tensorOf(outputs.getLogSumExp(), "logSumExp"));
    }

    String explain(
            NativeLayer layer, int training, NativeTensor output, NativeTensor weights, NativeTensor logSumExp) {
        return NativeText.from((text, capacity) -> layer.explanation(
                queries, keys, values, validLens, mask, bias, training, output, weights, logSumExp, text, capacity));
    }

    @Override
    public void close() {
        closeAll(queries, keys, values, validLens);
    }

    private static void closeAll(NativeTensor... tensors) {
        for (NativeTensor tensor : tensors) {
            if (tensor != null) {
                tensor.close();
            }
        }
    }
}
