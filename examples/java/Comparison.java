// SPDX-License-Identifier: Apache-2.0
import io.heed.NDArray;
import io.heed.NDManager;

import java.nio.file.Path;
import java.util.Locale;

/** Compares a result with the "output" of a safetensors file, within the file's "bound". */
final class Comparison {
    private Comparison() {}

    /** Prints the shape and the largest difference. Returns whether all numbers are within their bounds. */
    static boolean withFile(NDArray result, Path file) {
        NDManager manager = result.getManager();
        float[] actual = result.toFloatArray();
        double[] expected = manager.load(file, "output").toDoubleArray();
        double[] bound = manager.load(file, "bound").toDoubleArray();
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
        System.out.println(result.getShape());
        System.out.printf(
                Locale.ROOT, "largest difference to the file's output: %.2e, bound there %.2e; ",
                Math.abs(actual[largest] - expected[largest]), bound[largest]);
        System.out.printf("%d of %d numbers within their bounds%n", within, actual.length);
        return within == actual.length;
    }
}
