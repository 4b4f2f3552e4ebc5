// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.List;
import java.util.function.Predicate;

/** How a {@link Trainer} trains. {@link DefaultTrainingConfig} is one. */
public interface TrainingConfig {
    /**
     * Returns the device.
     *
     * @return one device, that of the model
     */
    Device[] getDevices();

    /**
     * Returns the initializers of parameters.
     *
     * @return each initializer with what selects its parameters; of several for a parameter the last one counts
     */
    PairList<Initializer, Predicate<Parameter>> getInitializers();

    /**
     * Returns the optimizer.
     *
     * @return what changes the parameters
     */
    Optimizer getOptimizer();

    /**
     * Returns the loss.
     *
     * @return what {@link Trainer#getLoss} returns
     */
    Loss getLossFunction();

    /**
     * Returns the listeners.
     *
     * @return what hears of the training
     */
    List<TrainingListener> getTrainingListeners();
}
