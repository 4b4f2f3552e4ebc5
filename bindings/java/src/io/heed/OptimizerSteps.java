// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.nio.file.Path;

/** The steps that a trainer takes, with the state of its optimizer, which is made at first use. */
final class OptimizerSteps implements AutoCloseable {
    private static final String COUNTS = "step.";

    private final Optimizer optimizer;
    private final Block block;
    private ParameterGradients gradients;
    private NativeOptimizer state;
    /** The number of steps so far, also of those before the state was saved that was loaded. */
    private long numSteps;

    private boolean hadGradients;
    private boolean isClosed;

    OptimizerSteps(Optimizer optimizer, Block block) {
        this.optimizer = optimizer;
        this.block = block;
    }

    /** The gradients of the block's parameters. */
    synchronized ParameterGradients gradients() {
        checkOpen();
        if (gradients == null) {
            gradients = new ParameterGradients(block.getParameters());
        }
        return gradients;
    }

    /** Takes a step, and sets the gradients to 0. */
    synchronized void step() {
        ParameterGradients all = gradients();
        if (!hadGradients && all.areAllZero()) {
            throw new IllegalStateException("all gradients are 0: call backward of a gradient collector before step");
        }
        NativeOptimizer changing = state();
        changing.setLearningRate(optimizer.learningRate(numSteps + 1));
        optimizer.prepare(all);
        all.step(changing);
        numSteps++;
        hadGradients = true;
        all.zero();
    }

    synchronized long numSteps() {
        return numSteps;
    }

    synchronized void setGroup(String prefix, double learningRateFactor, double weightDecay) {
        ByteBuffer beginning = NativeText.of(prefix, "prefix");
        try (NativeParameterGroup group = new NativeParameterGroup()) {
            group.setLearningRateFactor(learningRateFactor);
            group.setWeightDecay(weightDecay);
            state().setGroup(beginning, group);
        }
    }

    synchronized void save(Path path) {
        ByteBuffer file = NativeText.of(path);
        state().save(file);
    }

    synchronized void load(Path path) {
        ByteBuffer file = NativeText.of(path);
        state();
        optimizer.checkKind(path);
        long steps = stepsIn(path, file);
        state.load(file);
        numSteps = steps;
    }

    /** The largest number of steps of a parameter in a file; 0 without any. */
    private static long stepsIn(Path path, ByteBuffer file) {
        long steps = 0;
        long[] number = new long[1];
        try (Weights weights = Weights.open(path)) {
            for (String name : weights.getNames()) {
                if (name.startsWith(COUNTS)
                        && weights.getDataType(name) == DataType.INT64
                        && weights.getShape(name).size() == 1) {
                    try (NativeTensor count = NativeTensor.loadSafetensors(
                            Library.context(), file, NativeText.of(name, "name"))) {
                        count.read(number);
                    }
                    steps = Math.max(steps, number[0]);
                }
            }
        }
        return steps;
    }

    private NativeOptimizer state() {
        ParameterGradients all = gradients();
        if (state == null) {
            state = optimizer.newState(all.context());
        }
        return state;
    }

    private void checkOpen() {
        if (isClosed) {
            throw new IllegalStateException("the trainer is closed");
        }
    }

    @Override
    public synchronized void close() {
        isClosed = true;
        if (state != null) {
            state.close();
        }
    }
}
