// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** The training of a linear layer of three inputs and two outputs. */
class TrainingScene {
    static final Shape INPUTS = new Shape(4, 3);

    NDManager manager;
    NDArray inputs;
    NDArray targets;
    final List<Integer> asked = new ArrayList<>();

    @BeforeEach
    void open() {
        manager = NDManager.newBaseManager();
        manager.setSeed(3);
        inputs = manager.randomNormal(INPUTS);
        targets = inputs.matMul(manager.create(new float[] {1, -2, 3, 0.5f, 0, -1}, new Shape(3, 2)));
    }

    @AfterEach
    void close() {
        manager.close();
    }

    static Linear newBlock(long seed) {
        Linear made = Linear.builder().setUnits(2).build();
        made.setSeed(seed);
        return made;
    }

    static Trainer newTrainer(Model model, Optimizer optimizer) {
        Trainer trainer = model.newTrainer(new DefaultTrainingConfig(Loss.l2Loss()).optOptimizer(optimizer));
        trainer.initialize(INPUTS);
        return trainer;
    }

    Trainer sgd(Model model, float rate) {
        return newTrainer(model, Optimizer.sgd().setLearningRateTracker(step -> {
            asked.add(step);
            return rate;
        }).build());
    }

    static Model model(long seed) {
        Model model = Model.newInstance("linear");
        model.setBlock(newBlock(seed));
        return model;
    }

    /** Computes the gradients, and returns the loss. */
    float backward(Trainer trainer) {
        try (GradientCollector collector = trainer.newGradientCollector()) {
            NDArray loss = trainer.getLoss().evaluate(new NDList(targets), trainer.forward(new NDList(inputs)));
            collector.backward(loss);
            return loss.getFloat();
        }
    }

    void train(Trainer trainer, int numSteps) {
        for (int step = 0; step < numSteps; step++) {
            backward(trainer);
            trainer.step();
        }
    }

    static NDArray weight(Model model) {
        Block block = model.getBlock();
        return block.getParameters().get(0).getValue().getArray();
    }

    static float[] numbers(Model model) {
        Block block = model.getBlock();
        float[] all = {};
        for (Parameter parameter : block.getParameters().values()) {
            float[] each = parameter.getArray().toFloatArray();
            int size = all.length;
            all = Arrays.copyOf(all, size + each.length);
            System.arraycopy(each, 0, all, size, each.length);
        }
        return all;
    }
}
