// SPDX-License-Identifier: Apache-2.0
import io.heed.Device;
import io.heed.NDArray;
import io.heed.NDManager;

import java.nio.file.Path;
import java.util.Locale;

/** Compares a result with the "output" of a safetensors file. */
final class Comparison {
    /** How much larger rounding errors are in bfloat16 (8 bits of precision) than in float (24). */
    private static final double TIMES_LARGER = 65536;

    private Comparison() {}

    /**
     * Prints the shape and the largest difference. Returns whether all numbers are within the file's "bound"; for a
     * device that computes in 16 bits, whether all together are within what that makes of the file's "deviation".
     */
    static boolean withFile(NDArray result, Path file) {
        System.out.println(result.getShape());
        return result.getDevice().equals(Device.cpu()) ? ofFloats(result, file) : in16Bits(result, file);
    }

    private static boolean ofFloats(NDArray result, Path file) {
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
            if (difference <= bound[i]) { // False for a NaN.
                within++;
            }
        }
        System.out.printf(
                Locale.ROOT, "largest difference to the file's output: %.2e, bound there %.2e; ",
                Math.abs(actual[largest] - expected[largest]), bound[largest]);
        System.out.printf("%d of %d numbers within their bounds%n", within, actual.length);
        return within == actual.length;
    }

    private static boolean in16Bits(NDArray result, Path file) {
        NDManager manager = result.getManager();
        float[] actual = result.toFloatArray();
        double[] expected = manager.load(file, "output").toDoubleArray();
        double deviation = TIMES_LARGER * manager.load(file, "deviation").toDoubleArray()[0];
        double largest = 0;
        double sumOfSquares = 0;
        for (int i = 0; i < actual.length; i++) {
            double difference = Math.abs(actual[i] - expected[i]);
            largest = Math.max(largest, difference);
            sumOfSquares += difference * difference;
        }
        double mean = sumOfSquares / actual.length;
        System.out.printf(
                Locale.ROOT, "largest difference to the file's output: %.2e, mean of the squares %.2e, ",
                largest, mean);
        System.out.printf(Locale.ROOT, "expected in 16 bits up to %.2e%n", deviation * deviation);
        return mean <= deviation * deviation; // False for a NaN.
    }
}
