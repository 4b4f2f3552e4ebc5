// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;
import java.util.Objects;
import java.util.stream.Collectors;

/** The inputs that forward takes in a list, as the native layer says them (bindings/swig/lists.h). */
final class InputList {
    private final String[] names;
    /** The index of each input in AttentionInputs. */
    private final int[] places;
    /** Those that are ids, whose type is not that of the parameters. */
    private final boolean[] ids;
    private final int numRequired;

    InputList(String said) {
        String[] entries = said.split(" ");
        int count = entries.length;
        names = new String[count];
        places = new int[count];
        ids = new boolean[count];
        for (int i = 0; i < count; i++) {
            String[] entry = entries[i].split("=");
            names[i] = entry[0];
            places[i] = AttentionInputs.indexOf(entry[1].replaceAll("\\W", ""));
            ids[i] = entry[1].contains("#");
        }
        numRequired = (int) Arrays.stream(entries).filter(entry -> !entry.endsWith("?")).count();
    }

    /** Throws unless there are as many inputs as forward takes, and no required one is null. */
    void check(Object[] inputs, String name, String what) {
        if (inputs.length < numRequired || inputs.length > names.length) {
            throw new IllegalArgumentException(name + " has " + inputs.length + " " + what
                    + (inputs.length == 1 ? "" : "s") + ", expected " + expected());
        }
        for (int i = 0; i < numRequired; i++) {
            Objects.requireNonNull(inputs[i], names[i]);
        }
    }

    /** Places the inputs where an AttentionInputs has them; null where there is none. */
    <T> T[] inOrder(T[] inputs) {
        if (inputs.length == 1) {
            return inputs;
        }
        T[] placed = Arrays.copyOf(inputs, places[inputs.length - 1] + 1);
        Arrays.fill(placed, null);
        for (int i = 0; i < inputs.length; i++) {
            placed[places[i]] = inputs[i];
        }
        return placed;
    }

    /** The type of the input at a place, of a block with parameters of this type. */
    DataType typeAt(int place, DataType dataType) {
        for (int i = 0; i < places.length; i++) {
            if (places[i] == place && ids[i]) {
                return DataType.INT32;
            }
        }
        return place < AttentionInputs.indexOf("valid_lens") ? dataType : DataType.FLOAT32;
    }

    /** Whether the type of the first input is that of the parameters that are made for it. */
    boolean tellsType() {
        return !ids[0];
    }

    /** The smallest output of such a block. It is created to check whether inputs fit. */
    Wanted smallestOutput() {
        return names[0].equals("queries") ? Wanted.LOG_SUM_EXP : Wanted.OUTPUT;
    }

    private String expected() {
        String required = listed(0, numRequired, ", ");
        int numOptional = names.length - numRequired;
        if (numOptional == 0) {
            return numRequired + ": " + required;
        }
        return numRequired + (numOptional == 1 ? " or " : " to ") + names.length + ": " + required + " and, optional, "
                + listed(numRequired, names.length, " and ");
    }

    private String listed(int from, int to, String separator) {
        return Arrays.stream(names, from, to).collect(Collectors.joining(separator));
    }
}
