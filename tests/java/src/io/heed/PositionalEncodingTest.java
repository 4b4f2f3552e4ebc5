// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The cells of d2l-java's notebook about positional encodings, dropout, and the parts of arrays that the notebook writes as text. */
class PositionalEncodingTest {
    private NDManager manager;
    private ParameterStore ps;

    @BeforeEach
    void open() {
        manager = TestDevice.newManager();
        ps = new ParameterStore(manager, false);
    }

    @AfterEach
    void close() {
        manager.close();
    }

    /** Line by line the cells of "Self-Attention and Positional Encoding", up to the calls that draw. */
    @Test
    void notebookProgram() {
        int encodingDim = 32;
        int numSteps = 60;
        PositionalEncoding posEncoding = new PositionalEncoding(encodingDim, 0, 1000, manager);
        NDArray X = posEncoding
                .forward(
                        new ParameterStore(manager, false),
                        new NDList(manager.zeros(new Shape(1, numSteps, encodingDim))),
                        false)
                .get(0);
        NDArray P = posEncoding.P.get(new NDIndex(":, :{}, :", X.getShape().get(1)));

        double[][] plotX = new double[4][];
        float[][] plotY = new float[4][];
        for (int i = 0; i < 4; i++) {
            if (i == 0) {
                plotX[i] = manager.arange(numSteps).toType(DataType.FLOAT64, false).toDoubleArray();
            } else {
                plotX[i] = plotX[i - 1];
            }
            plotY[i] = P.get(new NDIndex("0, :, {},", i + 6)).toFloatArray();
        }
        NDArray heatmap = P.get(new NDIndex("0, :, :")).expandDims(0).expandDims(0);

        assertEquals(new Shape(1, 1000, 32), posEncoding.P.getShape());
        assertSame(manager, posEncoding.P.getManager());
        assertArrayEquals(P.toFloatArray(), X.toFloatArray());
        assertEquals(new Shape(1, 1, 60, 32), heatmap.getShape());
        for (int i = 0; i < 4; i++) {
            for (int p = 0; p < numSteps; p++) {
                assertEquals(p, plotX[i][p]);
                double angle = p / Math.pow(10000, (i < 2 ? 6 : 8) / 32.0);
                // In f64, rounded once; the angle itself is rounded, too.
                assertEquals((float) (i % 2 == 0 ? Math.sin(angle) : Math.cos(angle)), plotY[i][p], Math.ulp(1f) / 2);
            }
        }
    }

    @Test
    void dropoutDropsWhenTraining() {
        PositionalEncoding encoding = new PositionalEncoding(32, 0.5f, 100, manager);
        NDArray x = manager.ones(new Shape(1, 100, 32));
        encoding.setSeed(3);
        float[] trained = encoding.forward(ps, new NDList(x), true).head().toFloatArray();
        float[] whole = encoding.forward(ps, new NDList(x), false).head().toFloatArray();
        int dropped = 0;
        for (int i = 0; i < trained.length; i++) {
            dropped += trained[i] == 0 ? 1 : 0;
            assertTrue(trained[i] == 0 || Math.abs(trained[i] - 2 * whole[i]) <= Math.ulp(4f));
        }
        // 3200 elements, each dropped with probability 0.5: within six standard deviations.
        assertEquals(1600, dropped, 6 * Math.sqrt(3200 * 0.25));
        encoding.setSeed(3);
        assertArrayEquals(trained, encoding.forward(ps, new NDList(x), true).head().toFloatArray());
    }

    @Test
    void partsAreThoseOfNumPy() {
        NDArray x = manager.arange(2 * 3 * 4f).reshape(2, 3, 4);
        assertPart(x, new Shape(2, 3, 4), 0, new NDIndex(":"));
        assertPart(x, new Shape(3, 4), 12, new NDIndex("-1"));
        assertPart(x, new Shape(), 23, new NDIndex("1,2,3"));
        assertPart(x, new Shape(1, 2, 4), 16, new NDIndex("1:, 1:3"));
        assertPart(x, new Shape(2, 3), 3, new NDIndex("..., 3"));
        assertPart(x, new Shape(2, 2), 13, new NDIndex("1, :2, 1:-1"));
        assertEquals("1, ..., 1:3", new NDIndex("1,...,{}:{},", 1, 3L).toString());
        assertPart(x, new Shape(2, 0, 4), 0, new NDIndex(":, 3:"));
        for (String text : new String[] {"2", "-3", "3:", ":, 2:1", ":, :, :, :", "1:5"}) {
            refused("the array has the shape (2, 3, 4)", () -> x.get(new NDIndex(text)));
        }
        for (String text : new String[] {"", "a", "1, , 2", "1.5", "{}", "..., ...", "...:3", "1:...", "...:"}) {
            refused("indices", () -> new NDIndex(text));
        }
        refused("expected for each {} a whole number", () -> new NDIndex("1", 2));
        refused("expected for each {} a whole number", () -> new NDIndex("{}", 2.0));
        assertEquals("indices",
                assertThrows(NullPointerException.class, () -> new NDIndex(null)).getMessage());
        assertEquals("args",
                assertThrows(NullPointerException.class, () -> new NDIndex(":", (Object[]) null)).getMessage());
    }

    private static void assertPart(NDArray x, Shape shape, float first, NDIndex index) {
        NDArray part = x.get(index);
        assertEquals(shape, part.getShape());
        float[] numbers = part.toFloatArray();
        assertEquals(shape.size(), numbers.length);
        assertTrue(numbers.length == 0 || numbers[0] == first, index + ": " + Arrays.toString(numbers));
    }

    private static void refused(String words, Executable use) {
        String message = assertThrows(IllegalArgumentException.class, use).getMessage();
        assertTrue(message.contains(words), message);
    }
}
