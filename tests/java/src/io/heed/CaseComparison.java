// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Objects;

/** Compares what a case found with what it expects. */
final class CaseComparison {
    private CaseComparison() {}

    static boolean isList(Object value) {
        return value instanceof Collection || value != null && value.getClass().isArray();
    }

    /** The elements of an array or a list. */
    static List<Object> list(Object value) {
        if (value instanceof Collection) {
            return new ArrayList<>((Collection<?>) value);
        }
        List<Object> elements = new ArrayList<>();
        for (int i = 0; i < Array.getLength(value); i++) {
            elements.add(Array.get(value, i));
        }
        return elements;
    }

    /** How they differ, null if they are equal: floating-point numbers by their bits, arrays by types, shapes and elements. */
    static String difference(Object expected, Object found) {
        if (isList(expected) && isList(found)) {
            List<Object> left = list(expected);
            List<Object> right = list(found);
            if (left.size() != right.size()) {
                return right.size() + " elements, expected " + left.size();
            }
            for (int i = 0; i < left.size(); i++) {
                String difference = difference(left.get(i), right.get(i));
                if (difference != null) {
                    return "element " + i + ": " + difference;
                }
            }
            return null;
        }
        return areEqual(expected, found) ? null : found + ", expected " + expected;
    }

    private static boolean areEqual(Object expected, Object found) {
        if (expected instanceof CaseArguments.Symbol) {
            return ((CaseArguments.Symbol) expected).names(found);
        }
        if (expected instanceof Number && found instanceof Number) {
            boolean areFloats = expected instanceof Float || found instanceof Float;
            return areFloats
                    ? Float.compare(((Number) expected).floatValue(), ((Number) found).floatValue()) == 0
                    : isWhole(expected) && isWhole(found)
                            ? ((Number) expected).longValue() == ((Number) found).longValue()
                            : Double.compare(((Number) expected).doubleValue(), ((Number) found).doubleValue()) == 0;
        }
        if (expected instanceof NDArray && found instanceof NDArray) {
            return ((NDArray) expected).contentEquals((NDArray) found);
        }
        return Objects.equals(expected, found);
    }

    static boolean isWhole(Object number) {
        return !(number instanceof Float || number instanceof Double);
    }

    /** The bound is one for all numbers, or a list of one for each. */
    static void near(Object expected, Object found, Object bound) {
        if (expected instanceof NDArray) {
            if (!((NDArray) expected).getShape().equals(((NDArray) found).getShape())) {
                throw new AssertionError("shape " + ((NDArray) found).getShape() + ", expected " + ((NDArray) expected).getShape());
            }
            near(elements((NDArray) expected), elements((NDArray) found), bound);
        } else if (isList(expected)) {
            List<Object> left = list(expected);
            List<Object> right = list(found);
            if (left.size() != right.size()) {
                throw new AssertionError(right.size() + " elements, expected " + left.size());
            }
            List<Object> bounds = isList(bound) ? list(bound) : Collections.nCopies(left.size(), bound);
            for (int i = 0; i < left.size(); i++) {
                near(left.get(i), right.get(i), bounds.get(i));
            }
        } else {
            double left = ((Number) expected).doubleValue();
            double right = ((Number) found).doubleValue();
            if (left != right && !(Math.abs(left - right) <= ((Number) bound).doubleValue())) {
                throw new AssertionError(found + ", expected " + expected + " within " + bound);
            }
        }
    }

    private static Object elements(NDArray array) {
        return array.getDataType() == DataType.FLOAT64 ? array.toDoubleArray() : array.toFloatArray();
    }
}
