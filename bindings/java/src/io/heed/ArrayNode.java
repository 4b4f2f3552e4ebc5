// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** An operation on arrays, whose gradients are made of operations on arrays. */
final class ArrayNode extends TapeNode {
    /** Computes gradients. */
    interface Rule {
        /**
         * Computes the gradient of a tracked input.
         *
         * @param gradient that of the result
         * @param input the index of the input
         * @return an array of the result's shape where the input was repeated along axes, otherwise of the input's; null: 0
         */
        NDArray of(NDArray gradient, int input);
    }

    private Rule rule;

    ArrayNode(Tape tape, String operation) {
        super(tape, operation);
    }

    void setRule(Rule rule) {
        this.rule = rule;
    }

    /** Holds an array if the gradient of an input needs it; otherwise returns null. */
    NDArray holdFor(int input, String name, ArrayData array) {
        return tracks(input) ? hold(name, array) : null;
    }

    @Override
    void backward(NDArray whole) {
        for (int input = 0; input < numInputs(); input++) {
            if (!tracks(input)) {
                continue;
            }
            NDArray part;
            NDManager manager = whole.getManager();
            try (NDScope scope = manager.scope()) {
                NDArray made = rule.of(whole, input);
                if (made == null) {
                    continue;
                }
                made = ArrayGradients.toShape(made, shapeOf(input)).toType(dataTypeOf(input), false);
                // Another handle of an array that others own.
                part = made.getManager() == scope.getManager() ? scope.keep(made) : made.data().viewIn(manager);
            }
            give(input, part);
        }
    }

    @Override
    void release() {
        super.release();
        rule = null;
    }
}
