// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;

/** The list of inputs that forward takes, for kinds of blocks of which not all take the same. */
final class InputList {
    static final InputList SINGLE =
            new InputList(found -> new IllegalArgumentException(found + ", expected 1"), List.of("x"), 0);
    static final InputList ATTENTION = new InputList(
            found -> new IllegalArgumentException(
                    found + ", expected 3 or 4: queries, keys, values and, optional, validLens"),
            List.of("queries", "keys", "values"),
            0,
            AttentionInputs.indexOfKeys(),
            AttentionInputs.indexOfValues(),
            AttentionInputs.indexOfValidLens());
    static final InputList ENCODER = new InputList(
            found -> new IllegalArgumentException(found + ", expected 1 or 2: x and, optional, validLens"),
            List.of("x"),
            0,
            AttentionInputs.indexOfValidLens());
    /** Of an encoder of ids with token types. */
    static final InputList ENCODER_OF_IDS = new InputList(
            found -> new IllegalArgumentException(
                    found + ", expected 1 to 3: ids and, optional, validLens and tokenTypes"),
            List.of("ids"),
            0,
            AttentionInputs.indexOfValidLens(),
            AttentionInputs.indexOfTokenTypes());
    static final InputList DECODER = new InputList(
            found -> new IllegalArgumentException(
                    found + ", expected 1 to 3: x and, optional, memory and memoryValidLens"),
            List.of("x"),
            0,
            AttentionInputs.indexOfKeys(),
            AttentionInputs.indexOfValidLens());
    /** Of a decoder of ids without an encoder. */
    static final InputList DECODER_OF_IDS = new InputList(
            found -> new IllegalArgumentException(found + ", expected 1 or 2: ids and, optional, selfValidLens"),
            List.of("ids"),
            0,
            AttentionInputs.indexOfSelfValidLens());
    static final InputList TRANSFORMER = new InputList(
            found -> new IllegalArgumentException(
                    found + ", expected 2 or 3: decoderInput, encoderInput and, optional, validLens"),
            List.of("decoderInput", "encoderInput"),
            0,
            AttentionInputs.indexOfKeys(),
            AttentionInputs.indexOfValidLens());

    private final Function<String, IllegalArgumentException> wrongNumber;
    private final List<String> required;
    private final int[] places;

    /**
     * @param wrongNumber makes the exception for another number of inputs, which the text says
     * @param required the names of the first inputs, which must be there
     * @param places the index of each input in AttentionInputs
     */
    private InputList(Function<String, IllegalArgumentException> wrongNumber, List<String> required, int... places) {
        this.wrongNumber = wrongNumber;
        this.required = required;
        this.places = places;
    }

    /** Throws unless there are as many inputs as forward takes, and no required one is null. */
    void check(Object[] inputs, String found) {
        if (inputs.length < required.size() || inputs.length > places.length) {
            throw wrongNumber.apply(found);
        }
        for (int i = 0; i < required.size(); i++) {
            Objects.requireNonNull(inputs[i], required.get(i));
        }
    }

    /** Places the inputs where an AttentionInputs has them; null where there is none. */
    <T> T[] inOrder(T[] inputs) {
        if (inputs.length == 1) {
            return inputs;
        }
        T[] placed = Arrays.copyOf(inputs, Arrays.stream(places).max().getAsInt() + 1);
        Arrays.fill(placed, null);
        for (int i = 0; i < inputs.length; i++) {
            placed[places[i]] = inputs[i];
        }
        return placed;
    }
}
