// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * Trains the block of a {@link Model}: {@link Model#newTrainer} makes it. A step is
 *
 * <pre>{@code
 * try (GradientCollector collector = trainer.newGradientCollector()) {
 *     NDList predictions = trainer.forward(inputs);
 *     NDArray loss = trainer.getLoss().evaluate(labels, predictions);
 *     collector.backward(loss);
 * }
 * trainer.step();
 * }</pre>
 *
 * <p>Parameters of FLOAT32 are trained, all but those that are frozen. Used by one thread at a time.
 */
public final class Trainer implements AutoCloseable {
    private final Model model;
    private final Block block;
    private final Loss loss;
    private final List<TrainingListener> listeners;
    private final NDManager manager;
    private final OptimizerSteps steps;
    /** True once the listeners hear of the end, which may still use the trainer. */
    private boolean hasEnded;
    private boolean isClosed;

    Trainer(Model model, TrainingConfig config) {
        this.model = model;
        block = model.getBlock();
        loss = Objects.requireNonNull(config.getLossFunction(), "getLossFunction's result");
        listeners = List.copyOf(config.getTrainingListeners());
        steps = new OptimizerSteps(Objects.requireNonNull(config.getOptimizer(), "getOptimizer's result"), block);
        NDManager owner = model.getNDManager();
        Device[] devices = config.getDevices();
        if (devices.length != 1 || !devices[0].equals(owner.getDevice())) {
            throw new IllegalArgumentException("getDevices's result is " + Arrays.toString(devices) + ", expected "
                    + owner.getDevice() + ", the device of the model");
        }
        config.getInitializers().forEach(each -> block.setInitializer(each.getKey(), each.getValue()));
        manager = owner.newSubManager();
    }

    /** The last step of making a trainer. */
    Trainer begin() {
        try {
            listeners.forEach(listener -> listener.onTrainingBegin(this));
        } catch (Throwable error) {
            manager.close();
            throw error;
        }
        return this;
    }

    /**
     * Makes the parameters of FLOAT32 that the block lacks, as {@link Block#initialize} does. They belong to the
     * manager of the model.
     *
     * @param shapes the shape of each input of the block
     * @throws IllegalArgumentException if the block cannot have inputs of these shapes, or existing parameters do not
     *     fit them
     * @throws IllegalStateException if the trainer, the model or the block is closed
     */
    public void initialize(Shape... shapes) {
        checkOpen();
        block.initialize(model.getNDManager(), DataType.FLOAT32, shapes);
    }

    /**
     * Begins to record what this thread computes.
     *
     * @return a collector, which the caller closes on this thread
     * @throws IllegalStateException if this thread has an open one, or the trainer is closed
     */
    public GradientCollector newGradientCollector() {
        checkOpen();
        return Engine.getInstance().newGradientCollector();
    }

    /**
     * Computes the block's outputs for training: dropout is active.
     *
     * @param input the inputs that the block describes
     * @return the outputs that the block describes
     * @throws IllegalArgumentException if the inputs are not those that the block describes
     * @throws IllegalStateException if the block is not initialized, or the trainer or the block is closed
     */
    public NDList forward(NDList input) {
        checkOpen();
        return block.forward(new ParameterStore(manager, false), input, true);
    }

    /**
     * Computes the block's outputs without dropout.
     *
     * @param input the inputs that the block describes
     * @return the outputs that the block describes
     * @throws IllegalArgumentException if the inputs are not those that the block describes
     * @throws IllegalStateException if the block is not initialized, or the trainer or the block is closed
     */
    public NDList evaluate(NDList input) {
        checkOpen();
        return block.forward(new ParameterStore(manager, false), input, false);
    }

    /**
     * Changes the parameters by their gradients, with the learning rate of this step, and sets the gradients to 0. A
     * step that fails has changed no parameter and no state; but if the optimizer scales or clips gradients, they may
     * be scaled and clipped: {@link #zeroGradients} before the next backward.
     *
     * @throws IllegalArgumentException if a gradient is not finite; the message says which
     * @throws IllegalStateException if no gradient was ever computed: in the first step all are 0; or if the block is
     *     not initialized, or the trainer or the block is closed
     */
    public void step() {
        steps.step();
    }

    /**
     * Sets all gradients to 0.
     *
     * @throws IllegalStateException if the block is not initialized, or the trainer or the block is closed
     */
    public void zeroGradients() {
        steps.gradients().zero();
    }

    /**
     * Scales all gradients by one factor, so that their norm, the root of the sum of the squares of all elements, is at
     * most a number. Smaller ones stay as they are.
     *
     * @param maxNorm the largest norm, above 0
     * @return the norm before
     * @throws IllegalArgumentException if maxNorm is out of range, or a gradient is not finite; the message says which,
     *     and no gradient has changed
     * @throws IllegalStateException if the block is not initialized, or the trainer or the block is closed
     */
    public double clipGradients(double maxNorm) {
        return steps.gradients().clipNorm(maxNorm);
    }

    /**
     * Gives parameters a learning rate and a weight decay of their own, such as norms and biases no decay. Of several groups
     * that a parameter is in, that of the longest prefix counts.
     *
     * @param prefix the parameters: those of this name, and those whose names begin with it and a dot, such as
     *     "layers.0.norm_1"; "": all. A second call with a prefix replaces its numbers
     * @param learningRateFactor times the optimizer's learning rate, 0 or more
     * @param weightDecay in the place of the optimizer's, 0 or more
     * @throws IllegalArgumentException if a number is out of range, or the prefix has a line feed
     * @throws IllegalStateException if the block has no parameters yet, or the trainer is closed
     * @throws HeedException with {@link Status#NOT_FOUND} if no parameter has the prefix; before the first step it is the
     *     step that finds it
     */
    public void setGroup(String prefix, double learningRateFactor, double weightDecay) {
        steps.setGroup(prefix, learningRateFactor, weightDecay);
    }

    /**
     * Returns how many steps have been taken, also those before the state was saved that {@link #loadOptimizer} has
     * read.
     *
     * @return the number; the learning rate of the next step is that of this number plus 1
     */
    public long getNumSteps() {
        return steps.numSteps();
    }

    /**
     * Begins to count steps, of which the listeners of the configuration hear.
     *
     * @param totalSteps the number of all steps, 1 or more
     * @return a progress, whose step is called after each one
     * @throws IllegalArgumentException if the number is below 1
     * @throws IllegalStateException if the trainer is closed
     */
    public TrainingProgress newProgress(long totalSteps) {
        checkOpen();
        return new TrainingProgress(totalSteps, listeners.toArray(new TrainingListener[0]));
    }

    /**
     * Returns the loss.
     *
     * @return the loss of the configuration
     */
    public Loss getLoss() {
        return loss;
    }

    /**
     * Returns the model.
     *
     * @return the model whose block this trains
     */
    public Model getModel() {
        return model;
    }

    /**
     * Returns a manager for arrays of the training.
     *
     * @return a sub-manager of the model's, which is closed with the trainer
     */
    public NDManager getManager() {
        return manager;
    }

    /**
     * Writes the state of the optimizer to a .safetensors file: its options, and for each parameter the number of its
     * steps and its moments. docs/training.md lists the arrays. If writing fails, an existing file is unchanged.
     *
     * @param path the file
     * @throws IllegalStateException if the block is not initialized, or the trainer or the block is closed
     * @throws HeedException with {@link Status#IO} if the file cannot be written
     */
    public void saveOptimizer(Path path) {
        steps.save(path);
    }

    /**
     * Reads the state that {@link #saveOptimizer} has written. With the parameters of {@link Model#save}, training goes
     * on with the same bits as if it had never stopped: also the number of steps is that of the file. The file has the
     * optimizer's numbers, such as betas and weight decay, which then count instead of those that the optimizer was
     * built with. The learning rate, the factor of gradients and their clipping are those of the optimizer.
     *
     * @param path the file
     * @throws IllegalArgumentException if it is the file of another kind of optimizer
     * @throws IllegalStateException if the block is not initialized, or the trainer or the block is closed
     * @throws HeedException with {@link Status#IO} if the file cannot be read, {@link Status#CORRUPT_FILE} if it does
     *     not have the format, {@link Status#NOT_FOUND} if an array is missing; nothing has changed. What the next step
     *     throws if a parameter has another shape than in the file, or the file has others
     */
    public void loadOptimizer(Path path) {
        steps.load(path);
    }

    /** Frees the optimizer's state and the arrays of the trainer's manager. Closing twice does nothing. */
    @Override
    public void close() {
        if (hasEnded) {
            return;
        }
        hasEnded = true;
        try {
            listeners.forEach(listener -> listener.onTrainingEnd(this));
        } finally {
            isClosed = true;
            steps.close();
            manager.close();
        }
    }

    @Override
    public String toString() {
        return "Trainer(" + model.getName() + ", step " + getNumSteps() + (isClosed ? ", closed" : "") + ")";
    }

    private void checkOpen() {
        if (isClosed) {
            throw new IllegalStateException("the trainer is closed");
        }
    }
}
