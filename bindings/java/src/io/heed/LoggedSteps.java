// SPDX-License-Identifier: Apache-2.0
package io.heed;

/** Logs a line each second. */
final class LoggedSteps implements TrainingListener {
    private static final long NANOSECONDS = 1_000_000_000;

    private long logged = System.nanoTime();

    @Override
    public synchronized void onTrainingStep(TrainingStep step) {
        long now = System.nanoTime();
        if (now - logged >= NANOSECONDS || step.getNumber() == step.getTotalSteps()) {
            logged = now;
            System.getLogger("io.heed").log(System.Logger.Level.INFO, step::toString);
        }
    }
}
