// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.Test;

/** The text of arrays, compared with array_texts.txt, which the tests of C# use, too. */
class NDArrayTextTest {
    private static final String DEVICE = TestDevice.DEVICE.isCpu() ? "" : " on " + TestDevice.DEVICE;

    @Test
    void isWhatNumPyPrints() throws IOException {
        List<String> lines = Files.readAllLines(TestFiles.data("array_texts.txt"));
        int cases = 0;
        for (int i = 0; i < lines.size();) {
            String what = lines.get(i++);
            if (what.startsWith("#")) {
                continue;
            }
            List<String> text = new ArrayList<>();
            while (i < lines.size() && lines.get(i).startsWith("|")) {
                text.add(lines.get(i++).substring(1));
            }
            try (NDManager manager = TestDevice.newManager()) {
                NDArray array = read(manager, what);
                String head = "NDArray " + what.substring(what.indexOf('('), what.indexOf(':')) + " "
                        + what.substring(0, what.indexOf(' '));
                assertEquals(head + DEVICE + "\n" + String.join("\n", text), array.toString(), what);
            }
            cases++;
        }
        assertTrue(cases > 200, () -> "the file has few cases");
    }

    @Test
    void canBeReadWhileAnotherThreadClosesTheArray() throws InterruptedException {
        String open = "NDArray (2) int32" + DEVICE + "\n[1 2]";
        for (int i = 0; i < 200; i++) {
            try (NDManager manager = TestDevice.newManager()) {
                NDArray array = manager.create(new int[] {1, 2});
                Thread closing = new Thread(array::close);
                closing.start();
                String text = array.toString();
                closing.join();
                assertTrue(text.equals(open) || text.equals("NDArray (2) int32 (closed)"), text);
            }
        }
    }

    private static NDArray read(NDManager manager, String line) {
        DataType type = DataType.valueOf(line.substring(0, line.indexOf(' ')).toUpperCase(java.util.Locale.ROOT));
        Shape shape = new Shape(numbers(line.substring(line.indexOf('(') + 1, line.indexOf(')')), ", "));
        String elements = line.substring(line.indexOf(':') + 1).trim();
        int step = elements.indexOf(" step ");
        if (!type.isFloating()) {
            long[] values = step < 0 ? numbers(elements, " ") : new long[(int) shape.size()];
            if (step >= 0) {
                long first = Long.parseLong(elements.substring(0, step));
                long distance = Long.parseLong(elements.substring(step + 6));
                Arrays.setAll(values, i -> first + i * distance);
            }
            return manager.create(values, shape).toType(type, false);
        }
        double[] values = new double[(int) shape.size()];
        if (step >= 0) {
            double first = Double.parseDouble(elements.substring(0, step));
            double distance = Double.parseDouble(elements.substring(step + 6));
            Arrays.setAll(values, i -> first + i * distance);
        } else {
            String[] words = elements.split(" ");
            Arrays.setAll(values, i -> number(words[i]));
        }
        return manager.create(values, shape).toType(type, false);
    }

    private static long[] numbers(String text, String separator) {
        return text.isEmpty() ? new long[0] : Arrays.stream(text.split(separator)).mapToLong(Long::parseLong).toArray();
    }

    private static double number(String text) {
        switch (text) {
            case "nan":
                return Double.NaN;
            case "inf":
                return Double.POSITIVE_INFINITY;
            case "-inf":
                return Double.NEGATIVE_INFINITY;
            default:
                return Double.parseDouble(text);
        }
    }
}
