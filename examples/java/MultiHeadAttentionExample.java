// SPDX-License-Identifier: Apache-2.0
import io.heed.DataType;
import io.heed.MultiHeadAttention;
import io.heed.NDArray;
import io.heed.NDList;
import io.heed.NDManager;
import io.heed.ParameterStore;
import io.heed.Shape;

import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * The multi-head attention program of "Dive into Deep Learning" (d2l-java), section 10.5: only its imports are changed.
 *
 * <pre>
 * MultiHeadAttentionExample                   new weights, all inputs one: prints the shape of the result
 * MultiHeadAttentionExample FILE [--print]    weights, inputs and the expected output from a safetensors file: prints
 *                                             the shape, the largest difference and, with --print, every number of
 *                                             the result with its bits
 * </pre>
 */
public class MultiHeadAttentionExample {
    public static void main(String[] args) {
        List<String> options = Arrays.asList(args);
        if (options.isEmpty()) {
            runWithNewWeights();
        } else if (options.size() == 1 || (options.size() == 2 && options.get(1).equals("--print"))) {
            System.exit(runWithFile(Paths.get(args[0]), options.size() == 2) ? 0 : 1);
        } else {
            System.err.println("usage: MultiHeadAttentionExample [FILE.safetensors [--print]]");
            System.exit(2);
        }
    }

    private static void runWithNewWeights() {
        NDManager manager = NDManager.newBaseManager();

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
    private static boolean runWithFile(Path file, boolean print) {
        try (NDManager manager = NDManager.newBaseManager();
                MultiHeadAttention attention = new MultiHeadAttention(100, 5, 0.5f, false)) {
            attention.load(file, "attention");
            NDList input = new NDList(
                    manager.load(file, "queries"),
                    manager.load(file, "keys"),
                    manager.load(file, "values"),
                    manager.load(file, "valid_lens"));
            NDArray result = attention.forward(new ParameterStore(manager, false), input, false).singletonOrThrow();
            System.out.println(result.getShape());

            float[] actual = result.toFloatArray();
            double[] expected = manager.load(file, "output").toDoubleArray();
            double[] bound = manager.load(file, "bound").toDoubleArray();
            boolean within = compare(actual, expected, bound);
            if (print) {
                StringBuilder lines = new StringBuilder();
                for (float number : actual) {
                    lines.append(String.format("%s %08x%n", number, Float.floatToRawIntBits(number)));
                }
                System.out.print(lines);
            }
            return within;
        }
    }

    /** Prints the largest difference. Returns whether each is within its bound. */
    private static boolean compare(float[] actual, double[] expected, double[] bound) {
        int largest = 0;
        int within = 0;
        for (int i = 0; i < actual.length; i++) {
            double difference = Math.abs(actual[i] - expected[i]);
            if (difference > Math.abs(actual[largest] - expected[largest])) {
                largest = i;
            }
            if (difference <= bound[i]) { // Never true of a NaN.
                within++;
            }
        }
        System.out.printf(
                Locale.ROOT, "largest difference to the file's output: %.2e, bound there %.2e; ",
                Math.abs(actual[largest] - expected[largest]), bound[largest]);
        System.out.printf("%d of %d numbers within their bounds%n", within, actual.length);
        return within == actual.length;
    }
}
