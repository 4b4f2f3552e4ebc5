// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Hears of a training, on the thread that trains. */
@FunctionalInterface
public interface TrainingListener {
    /**
     * Called after each step by {@link TrainingProgress#step}, which throws the exception that this throws.
     *
     * @param step how far the training is
     */
    void onTrainingStep(TrainingStep step);

    /**
     * Called when a trainer is made. The default does nothing.
     *
     * @param trainer the trainer
     */
    default void onTrainingBegin(Trainer trainer) {}

    /**
     * Called when a trainer is closed. The default does nothing.
     *
     * @param trainer the trainer, which is closed after the call
     */
    default void onTrainingEnd(Trainer trainer) {}

    /** Listeners that are there already. */
    final class Defaults {
        private Defaults() {}

        /**
         * Makes a listener that logs a line each second, and one of the last step, to the {@link System.Logger}
         * "io.heed" as INFO.
         *
         * @return an array of one listener, for one training
         */
        public static TrainingListener[] logging() {
            return new TrainingListener[] {new LoggedSteps()};
        }
    }
}
