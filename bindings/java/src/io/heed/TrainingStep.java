// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Locale;

/** How far a training is after one of its steps. */
public final class TrainingStep {
    private final long number;
    private final long totalSteps;
    private final double loss;
    private final double tokensPerSecond;
    private final double secondsLeft;

    TrainingStep(long number, long totalSteps, double loss, double tokensPerSecond, double secondsLeft) {
        this.number = number;
        this.totalSteps = totalSteps;
        this.loss = loss;
        this.tokensPerSecond = tokensPerSecond;
        this.secondsLeft = secondsLeft;
    }

    /**
     * Returns the number of the step.
     *
     * @return the number, from 1 on
     */
    public long getNumber() {
        return number;
    }

    /**
     * Returns the number of all steps.
     *
     * @return the number that {@link TrainingProgress} was made with
     */
    public long getTotalSteps() {
        return totalSteps;
    }

    /**
     * Returns the loss of the step.
     *
     * @return the number that {@link TrainingProgress#step} was given
     */
    public double getLoss() {
        return loss;
    }

    /**
     * Returns the speed of the last steps.
     *
     * @return tokens, or whatever the program counts, for each second
     */
    public double getTokensPerSecond() {
        return tokensPerSecond;
    }

    /**
     * Returns the time that the other steps will take if they are as fast as the last ones.
     *
     * @return seconds
     */
    public double getSecondsLeft() {
        return secondsLeft;
    }

    /**
     * Returns a line such as "step 200 of 400, loss 0.003, 191235 tokens/s, 5 s left".
     *
     * @return the line
     */
    @Override
    public String toString() {
        return String.format(
                Locale.ROOT,
                "step %d of %d, loss %.3f, %.0f tokens/s, %.0f s left",
                number,
                totalSteps,
                loss,
                tokensPerSecond,
                secondsLeft);
    }
}
