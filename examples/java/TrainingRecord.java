// SPDX-License-Identifier: Apache-2.0
import io.heed.TrainingProgress;
import io.heed.TrainingStep;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/** The losses of a training, and the line that says how far it is, which each step writes again. */
final class TrainingRecord {
    private final String name;
    private final List<Float> losses;
    private final TrainingProgress progress;

    /**
     * Begins a record.
     *
     * @param losses of the steps that an earlier run has done
     */
    TrainingRecord(String name, int numSteps, List<Float> losses) {
        this.name = name;
        this.losses = new ArrayList<>(losses);
        progress = new TrainingProgress(Math.max(numSteps - losses.size(), 1), step -> show(step, losses.size(), numSteps));
    }

    TrainingRecord(String name, int numSteps) {
        this(name, numSteps, List.of());
    }

    /**
     * Adds a step that was taken.
     *
     * @throws java.util.concurrent.CancellationException if the thread is interrupted. The step counts
     */
    void add(float loss, long numTokens) {
        losses.add(loss);
        progress.step(loss, numTokens);
    }

    private void show(TrainingStep step, int numBefore, int numSteps) {
        System.err.printf(
                Locale.ROOT,
                "\r%s: step %d of %d, loss %.3f, %.0f tokens/s, %.0f s left ",
                name,
                numBefore + step.getNumber(),
                numSteps,
                step.getLoss(),
                step.getTokensPerSecond(),
                step.getSecondsLeft());
        if (step.getNumber() == step.getTotalSteps()) {
            System.err.println();
        }
    }

    int size() {
        return losses.size();
    }

    float first() {
        return losses.get(0);
    }

    float last() {
        return losses.get(losses.size() - 1);
    }

    /** Of all steps, also those of an earlier run. */
    List<Float> losses() {
        return Collections.unmodifiableList(losses);
    }
}
