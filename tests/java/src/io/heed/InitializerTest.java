// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class InitializerTest {
    private static final int COUNT = 40_000;

    private NDManager manager;

    @BeforeEach
    void open() {
        manager = TestDevice.newManager();
        manager.setSeed(1);
    }

    @AfterEach
    void close() {
        manager.close();
    }

    @Test
    void constants() {
        assertArrayEquals(new float[] {0, 0}, draw(Initializer.ZEROS, 2));
        assertArrayEquals(new float[] {1, 1}, draw(Initializer.ONES, 2));
        assertArrayEquals(new float[] {2.5f, 2.5f}, draw(new ConstantInitializer(2.5f), 2));
    }

    @Test
    void distributions() {
        assertSpread(0.01, Double.POSITIVE_INFINITY, draw(new NormalInitializer(), COUNT));
        assertSpread(3, Double.POSITIVE_INFINITY, draw(new NormalInitializer(3), COUNT));
        // Uniform between -a and a: the standard deviation is a / sqrt(3).
        assertSpread(0.07 / Math.sqrt(3), 0.07, draw(new UniformInitializer(), COUNT));
        assertSpread(2 / Math.sqrt(3), 2, draw(new UniformInitializer(2), COUNT));
        // A normal distribution cut off at two standard deviations: 0.8796 of one (Johnson, Kotz, 1970).
        assertSpread(0.01 * 0.8796, 0.02, draw(new TruncatedNormalInitializer(), COUNT));
        assertSpread(3 * 0.8796, 6, draw(new TruncatedNormalInitializer(3), COUNT));
    }

    @Test
    void badDeviationsAreRefused() {
        for (float sigma : new float[] {-1, Float.NaN, Float.POSITIVE_INFINITY}) {
            assertThrows(IllegalArgumentException.class, () -> draw(new NormalInitializer(sigma), 2));
            assertThrows(IllegalArgumentException.class, () -> draw(new TruncatedNormalInitializer(sigma), 2));
        }
        assertArrayEquals(new float[] {0, 0}, draw(new TruncatedNormalInitializer(0), 2));
    }

    @Test
    void xavier() {
        double none = Double.POSITIVE_INFINITY;
        assertSpread(Math.sqrt(2 / 400.0), none, draw(new XavierInitializer(), 100, 400));
        for (XavierInitializer.FactorType factor : XavierInitializer.FactorType.values()) {
            double size = factor == XavierInitializer.FactorType.IN
                    ? 400
                    : factor == XavierInitializer.FactorType.OUT ? 100 : 250;
            double width = Math.sqrt(3 / size);
            assertSpread(
                    width / Math.sqrt(3),
                    width,
                    draw(new XavierInitializer(XavierInitializer.RandomType.UNIFORM, factor, 3), 100, 400));
            assertSpread(
                    width,
                    none,
                    draw(new XavierInitializer(XavierInitializer.RandomType.GAUSSIAN, factor, 3), 100, 400));
        }
        // Further axes count for both sizes.
        assertSpread(Math.sqrt(2 / 400.0), none, draw(new XavierInitializer(), 100, 40, 5, 2));
        assertThrows(IllegalArgumentException.class, () -> draw(new XavierInitializer(), 3));
        assertThrows(IllegalArgumentException.class, () -> draw(new XavierInitializer(), 3, 0));
        assertEquals(
                "randomType",
                assertThrows(
                                NullPointerException.class,
                                () -> new XavierInitializer(null, XavierInitializer.FactorType.IN, 2))
                        .getMessage());
        assertThrows(
                NullPointerException.class,
                () -> new XavierInitializer(XavierInitializer.RandomType.UNIFORM, null, 2));
    }

    @Test
    void repeatsWithTheManagersSeedAndKeepsTheType() {
        for (Initializer initializer : new Initializer[] {
            new NormalInitializer(), new UniformInitializer(), new TruncatedNormalInitializer(), new XavierInitializer()
        }) {
            manager.setSeed(7);
            float[] first = draw(initializer, 4, 5);
            assertFalse(Arrays.equals(first, draw(initializer, 4, 5)));
            manager.setSeed(7);
            assertArrayEquals(first, draw(initializer, 4, 5));
            NDArray half = initializer.initialize(manager, new Shape(2, 3), DataType.FLOAT16);
            assertEquals(DataType.FLOAT16, half.getDataType());
            assertEquals(new Shape(2, 3), half.getShape());
        }
    }

    private float[] draw(Initializer initializer, long... dims) {
        return initializer.initialize(manager, new Shape(dims), DataType.FLOAT32).toFloatArray();
    }

    /**
     * The mean is 0 and the standard deviation as expected, each within six standard errors, and no number exceeds the
     * bound.
     */
    private static void assertSpread(double expected, double bound, float[] numbers) {
        assertEquals(COUNT, numbers.length);
        double sum = 0;
        double squares = 0;
        for (float number : numbers) {
            sum += number;
            squares += (double) number * number;
            assertTrue(Math.abs(number) <= bound * 1.000001, number + " is beyond " + bound);
        }
        assertEquals(0, sum / COUNT, 6 * expected / Math.sqrt(COUNT));
        assertEquals(expected, Math.sqrt(squares / COUNT), 6 * expected / Math.sqrt(2.0 * COUNT));
    }
}
