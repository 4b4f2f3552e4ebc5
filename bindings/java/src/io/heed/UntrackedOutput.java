// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** An output of a recorded forward that has no gradient, such as attention weights. It may only be read. */
final class UntrackedOutput extends TapeNode {
    UntrackedOutput(Tape tape, String output) {
        super(tape, output);
    }

    @Override
    void checkRecordable() {
        throw new UnsupportedOperationException(
                operation + " have no gradient here: expected stopGradient() of the array");
    }

    @Override
    void backward(NDArray whole) {
        checkRecordable();
    }
}
