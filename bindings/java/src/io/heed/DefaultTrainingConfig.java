// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;

/**
 * How a {@link Trainer} trains: by default with {@link Adam}, on the CPU, with the initializers that parameters have.
 *
 * <pre>{@code
 * TrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
 *         .optOptimizer(Optimizer.adamW().optLearningRateTracker(Tracker.fixed(3e-3f)).build())
 *         .optInitializer(new XavierInitializer(), Parameter.Type.WEIGHT);
 * }</pre>
 */
public class DefaultTrainingConfig implements TrainingConfig {
    private final Loss loss;
    private final PairList<Initializer, Predicate<Parameter>> initializers = new PairList<>();
    private final List<TrainingListener> listeners = new ArrayList<>();
    private Optimizer optimizer;
    /** Null: not set. */
    private Device[] devices;

    /**
     * Makes a configuration with the defaults.
     *
     * @param loss what {@link Trainer#getLoss} returns
     */
    public DefaultTrainingConfig(Loss loss) {
        this.loss = Objects.requireNonNull(loss, "loss");
    }

    /**
     * Sets the initializer of parameters of a type, which replaces the one that they have.
     *
     * @param initializer makes the first values
     * @param type the type
     * @return this
     */
    public DefaultTrainingConfig optInitializer(Initializer initializer, Parameter.Type type) {
        Objects.requireNonNull(type, "type");
        return optInitializer(initializer, parameter -> parameter.getType() == type);
    }

    /**
     * Sets the initializer of parameters with a name, which replaces the one that they have.
     *
     * @param initializer makes the first values
     * @param name the name in the block that has the parameter, as {@link Parameter#getName} returns it
     * @return this
     */
    public DefaultTrainingConfig optInitializer(Initializer initializer, String name) {
        Objects.requireNonNull(name, "name");
        return optInitializer(initializer, parameter -> parameter.getName().equals(name));
    }

    /**
     * Sets the initializer of some parameters, which replaces the one that they have.
     *
     * @param initializer makes the first values
     * @param predicate selects the parameters
     * @return this
     */
    public DefaultTrainingConfig optInitializer(Initializer initializer, Predicate<Parameter> predicate) {
        initializers.add(
                Objects.requireNonNull(initializer, "initializer"), Objects.requireNonNull(predicate, "predicate"));
        return this;
    }

    /**
     * Sets the device. heed trains on one.
     *
     * @param devices one device, that of the model
     * @return this
     * @throws IllegalArgumentException if there is not one device
     */
    public DefaultTrainingConfig optDevices(Device[] devices) {
        Objects.requireNonNull(devices, "devices");
        if (devices.length != 1) {
            throw new IllegalArgumentException(devices.length + " devices were given, expected 1");
        }
        Objects.requireNonNull(devices[0], "devices");
        this.devices = devices.clone();
        return this;
    }

    /**
     * Sets the optimizer.
     *
     * @param optimizer what changes the parameters; the default is {@link Adam} with its defaults
     * @return this
     */
    public DefaultTrainingConfig optOptimizer(Optimizer optimizer) {
        this.optimizer = Objects.requireNonNull(optimizer, "optimizer");
        return this;
    }

    /**
     * Adds listeners.
     *
     * @param listeners what hears of the training
     * @return this
     */
    public DefaultTrainingConfig addTrainingListeners(TrainingListener... listeners) {
        for (TrainingListener listener : Objects.requireNonNull(listeners, "listeners")) {
            this.listeners.add(Objects.requireNonNull(listener, "listeners"));
        }
        return this;
    }

    @Override
    public Device[] getDevices() {
        return devices == null ? new Device[] {Device.cpu()} : devices.clone();
    }

    @Override
    public PairList<Initializer, Predicate<Parameter>> getInitializers() {
        PairList<Initializer, Predicate<Parameter>> copy = new PairList<>();
        copy.addAll(initializers);
        return copy;
    }

    @Override
    public Optimizer getOptimizer() {
        if (optimizer == null) {
            optimizer = Optimizer.adam().build();
        }
        return optimizer;
    }

    @Override
    public Loss getLossFunction() {
        return loss;
    }

    @Override
    public List<TrainingListener> getTrainingListeners() {
        return new ArrayList<>(listeners);
    }
}
