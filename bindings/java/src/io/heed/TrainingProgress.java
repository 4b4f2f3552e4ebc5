// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.function.LongSupplier;

/**
 * Counts the steps of a training, measures how fast the last 20 were, and tells listeners. Used by one thread at a
 * time. A step makes one object, the {@link TrainingStep}.
 *
 * <pre>{@code
 * TrainingProgress progress = new TrainingProgress(400, step -> System.err.print("\r" + step));
 * for (Batch batch : batches) {
 *     ...
 *     trainer.step();
 *     progress.step(loss.getFloat(), batch.numTokens);
 * }
 * }</pre>
 */
public final class TrainingProgress {
    /** How many of the last steps the speed is of. */
    private static final int WINDOW = 20;

    private final long totalSteps;
    private final TrainingListener[] listeners;
    private final LongSupplier clock;
    /** Of step n, at n modulo the size: when it ended, in nanoseconds, and the tokens of all steps up to it. */
    private final long[] times = new long[WINDOW + 1];

    private final long[] tokens = new long[WINDOW + 1];
    private long number;

    /**
     * Makes a progress, from now on.
     *
     * @param totalSteps the number of all steps, 1 or more
     * @param listeners what hears of each step
     * @throws IllegalArgumentException if the number is below 1
     */
    public TrainingProgress(long totalSteps, TrainingListener... listeners) {
        this(totalSteps, System::nanoTime, listeners);
    }

    /** With a clock of nanoseconds. */
    TrainingProgress(long totalSteps, LongSupplier clock, TrainingListener... listeners) {
        if (totalSteps < 1) {
            throw new IllegalArgumentException("totalSteps is " + totalSteps + ", expected at least 1");
        }
        this.totalSteps = totalSteps;
        this.listeners = Objects.requireNonNull(listeners, "listeners").clone();
        for (TrainingListener listener : this.listeners) {
            Objects.requireNonNull(listener, "listeners");
        }
        this.clock = clock;
        times[0] = clock.getAsLong();
    }

    /**
     * Counts a step that has been taken, and tells the listeners.
     *
     * @param loss the loss of the step
     * @param numTokens the tokens, or whatever the program counts, that the step was made of
     * @throws IllegalArgumentException if numTokens is negative
     * @throws IllegalStateException if all steps have been counted
     * @throws CancellationException if the thread is interrupted; it stays interrupted, and the step is counted
     */
    public void step(double loss, long numTokens) {
        if (numTokens < 0) {
            throw new IllegalArgumentException("numTokens is " + numTokens + ", expected 0 or more");
        }
        if (number == totalSteps) {
            throw new IllegalStateException("all " + totalSteps + " steps have been counted already");
        }
        int before = (int) (number % times.length);
        number++;
        int now = (int) (number % times.length);
        times[now] = clock.getAsLong();
        tokens[now] = tokens[before] + numTokens;
        long counted = Math.min(number, WINDOW);
        int first = (int) ((number - counted) % times.length);
        double seconds = Math.max(times[now] - times[first], 1) * 1e-9;
        TrainingStep step = new TrainingStep(
                number,
                totalSteps,
                loss,
                (tokens[now] - tokens[first]) / seconds,
                seconds / counted * (totalSteps - number));
        for (TrainingListener listener : listeners) {
            listener.onTrainingStep(step);
        }
        StoppedCalls.check();
    }

    /**
     * Returns the number of all steps.
     *
     * @return the number that this was made with
     */
    public long getTotalSteps() {
        return totalSteps;
    }

    /**
     * Returns the number of steps that have been counted.
     *
     * @return 0 or more
     */
    public long getNumSteps() {
        return number;
    }

    @Override
    public String toString() {
        return "TrainingProgress(step " + number + " of " + totalSteps + ")";
    }
}
