// SPDX-License-Identifier: Apache-2.0
import io.heed.ContextOptions;
import io.heed.DataType;
import io.heed.Device;
import io.heed.MultiHeadAttention;
import io.heed.NDArray;
import io.heed.NDList;
import io.heed.NDManager;
import io.heed.ParameterStore;
import io.heed.Shape;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * The multi-head attention program of "Dive into Deep Learning" (d2l-java), section 10.5: only its imports and its
 * manager are changed.
 *
 * <pre>
 * run multi_head_attention                   new weights, all inputs one: prints the shape of the result
 * run multi_head_attention FILE [--print]    weights, inputs and the expected output from a safetensors file: prints
 *                                            the shape, the largest difference and, with --print, every number of
 *                                            the result with its bits
 * run multi_head_attention --device ascend   the same, also with FILE, on a Huawei Ascend NPU, which computes in 16
 *                                            bits
 * </pre>
 */
public class MultiHeadAttentionExample {
    public static void main(String[] args) {
        List<String> rest = Arrays.asList(args);
        Device device = Device.cpu();
        if (rest.size() >= 2 && rest.get(0).equals("--device")) {
            device = Device.fromName(rest.get(1));
            rest = rest.subList(2, rest.size());
        }
        if (rest.isEmpty()) {
            runWithNewWeights(device);
        } else if (rest.size() == 1 || (rest.size() == 2 && rest.get(1).equals("--print"))) {
            System.exit(runWithFile(device, Path.of(rest.get(0)), rest.size() == 2) ? 0 : 1);
        } else {
            System.err.println("usage: multi_head_attention [--device cpu|ascend] [FILE.safetensors [--print]]");
            System.exit(2);
        }
    }

    /** All arrays here are FLOAT32, which the NPU rounds to BFLOAT16 if it may. */
    private static NDManager newManager(Device device) {
        return NDManager.newBaseManager(
                device, ContextOptions.builder().optAllowReducedPrecision(true).build());
    }

    private static void runWithNewWeights(Device device) {
        NDManager manager = newManager(device);

        int numHiddens = 100;
        int numHeads = 5;
        MultiHeadAttention attention = new MultiHeadAttention(numHiddens, numHeads, 0.5f, false);

        int batchSize = 2;
        int numQueries = 4;
        int numKvpairs = 6;
        NDArray validLens = manager.create(new float[] {3, 2});
        NDArray X = manager.ones(new Shape(batchSize, numQueries, numHiddens));
        NDArray Y = manager.ones(new Shape(batchSize, numKvpairs, numHiddens));

        ParameterStore ps = new ParameterStore(manager, false);
        NDList input = new NDList(X, Y, Y, validLens);
        attention.initialize(manager, DataType.FLOAT32, input.getShapes());
        NDList result = attention.forward(ps, input, false);
        System.out.println(result.get(0).getShape());

        manager.close();
    }

    /** Returns whether the result is within the file's bound. */
    private static boolean runWithFile(Device device, Path file, boolean print) {
        try (NDManager manager = newManager(device);
                MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0.5f, false)) {
            attention.load(file, "attention");
            NDList input = new NDList(
                    manager.load(file, "queries"),
                    manager.load(file, "keys"),
                    manager.load(file, "values"),
                    manager.load(file, "valid_lens"));
            NDArray result = attention.forward(new ParameterStore(manager, false), input, false).singletonOrThrow();
            boolean within = Comparison.withFile(result, file);
            if (print) {
                StringBuilder lines = new StringBuilder();
                for (float number : result.toFloatArray()) {
                    lines.append(String.format("%s %08x%n", number, Float.floatToRawIntBits(number)));
                }
                System.out.print(lines);
            }
            return within;
        }
    }
}
