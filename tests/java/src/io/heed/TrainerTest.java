// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Steps of trainers. */
class TrainerTest extends TrainingScene {
    @Test
    void aStepSubtractsTheGradients() {
        try (Model model = model(1);
                Trainer trainer = sgd(model, 0.125f)) {
            backward(trainer);
            NDArray gradient = weight(model).getGradient();
            NDArray expected = weight(model).stopGradient().sub(gradient.mul(0.125f));
            trainer.step();
            assertArrayEquals(expected.toFloatArray(), weight(model).toFloatArray(), 1e-7f);
            assertEquals(0, weight(model).getGradient().abs().sum().getFloat());
        }
    }

    @Test
    void learns() {
        try (Model model = model(1);
                Trainer trainer = newTrainer(
                        model, Optimizer.adamW().optLearningRateTracker(Tracker.fixed(0.1f)).optWeightDecays(0).build())) {
            float first = backward(trainer);
            trainer.step();
            train(trainer, 300);
            float last = backward(trainer);
            assertTrue(last < 1e-4f * first, first + " " + last);
            NDArray predictions = trainer.evaluate(new NDList(inputs)).singletonOrThrow();
            assertArrayEquals(targets.toFloatArray(), predictions.toFloatArray(), 0.05f);
        }
    }

    @Test
    void theFirstStepNeedsGradients() {
        try (Model model = model(1);
                Trainer trainer = sgd(model, 0.1f)) {
            float[] before = numbers(model);
            assertEquals("all gradients are 0: call backward of a gradient collector before step",
                    assertThrows(IllegalStateException.class, trainer::step).getMessage());
            assertArrayEquals(before, numbers(model));
            train(trainer, 1);
            float[] after = numbers(model);
            assertFalse(Arrays.equals(before, after));
            // Later ones may be 0, as at a minimum.
            trainer.step();
            assertArrayEquals(after, numbers(model));
            assertEquals(2, trainer.getNumSteps());
        }
    }

    @Test
    void theTrackerIsAskedForTheNumberOfTheStep() {
        try (Model model = model(1);
                Trainer trainer = sgd(model, 0.1f)) {
            train(trainer, 3);
            assertEquals(List.of(1, 2, 3), asked);
        }
    }

    @Test
    void gradientsAddUpUntilTheStep() {
        try (Model model = model(1);
                Trainer trainer = sgd(model, 0.1f)) {
            backward(trainer);
            NDArray once = weight(model).getGradient().duplicate();
            backward(trainer);
            assertArrayEquals(once.mul(2).toFloatArray(), weight(model).getGradient().toFloatArray(), 1e-6f);
            trainer.zeroGradients();
            assertEquals(0, weight(model).getGradient().abs().sum().getFloat());
        }
    }

    @Test
    void aStepThatFailsChangesNothing() {
        try (Model model = model(1);
                Trainer trainer = sgd(model, 0.1f)) {
            train(trainer, 2);
            float[] before = numbers(model);
            backward(trainer);
            weight(model).getGradient().set(new NDIndex("0, 0"), Float.NaN);
            String refused = assertThrows(IllegalArgumentException.class, trainer::step).getMessage();
            assertTrue(refused.contains("weight"), refused);
            assertArrayEquals(before, numbers(model));
            assertEquals(2, trainer.getNumSteps());
            trainer.zeroGradients();
            train(trainer, 1);
            assertEquals(List.of(1, 2, 3, 3), asked);
        }
    }

    @Test
    void groupsHaveNumbersOfTheirOwn() {
        try (Model model = model(1);
                Trainer trainer = sgd(model, 0.1f)) {
            trainer.setGroup("bias", 0, 0);
            Parameter bias = model.getBlock().getParameters().get("bias");
            float[] before = bias.getArray().toFloatArray();
            float[] weight = weight(model).toFloatArray();
            train(trainer, 1);
            assertArrayEquals(before, bias.getArray().toFloatArray());
            assertFalse(Arrays.equals(weight, weight(model).toFloatArray()));
            String refused = assertThrows(IllegalArgumentException.class, () -> trainer.setGroup("bias", -1, 0))
                    .getMessage();
            assertTrue(refused.startsWith("learningRateFactor is -1"), refused);
            HeedException missing = assertThrows(HeedException.class, () -> trainer.setGroup("gain", 1, 0));
            assertEquals(Status.NOT_FOUND, missing.getStatus());
        }
    }

    @Test
    void learningRatesOutOfRangeAreRefused() {
        try (Model model = model(1);
                Trainer trainer = sgd(model, -1)) {
            float[] before = numbers(model);
            backward(trainer);
            NDArray gradient = weight(model).getGradient().duplicate();
            assertThrows(IllegalArgumentException.class, trainer::step);
            assertArrayEquals(before, numbers(model));
            assertEquals(gradient, weight(model).getGradient());
        }
    }

    @Test
    void gradientsAreClippedByTheirNorm() {
        try (Model model = model(1);
                Trainer trainer = sgd(model, 0.1f)) {
            backward(trainer);
            Block block = model.getBlock();
            double squares = 0;
            for (Parameter parameter : block.getParameters().values()) {
                squares += parameter.getArray().getGradient().square().sum().getFloat();
            }
            double norm = trainer.clipGradients(0.01);
            assertEquals(Math.sqrt(squares), norm, 1e-5 * norm);
            assertEquals(0.01, trainer.clipGradients(1), 1e-7);
            assertEquals(0.01, trainer.clipGradients(1), 1e-7);
            assertThrows(IllegalArgumentException.class, () -> trainer.clipGradients(-1));
        }
    }

    @Test
    void optimizersScaleAndClipElements() {
        Optimizer optimizer = Optimizer.sgd()
                .setLearningRateTracker(Tracker.fixed(1))
                .setRescaleGrad(0.5f)
                .optClipGrad(0.25f)
                .build();
        try (Model model = model(1);
                Trainer trainer = newTrainer(model, optimizer)) {
            backward(trainer);
            weight(model).getGradient().set(new float[] {0.25f, -0.25f, 8, -8, 0, 0.5f});
            NDArray before = weight(model).duplicate();
            trainer.step();
            NDArray change = manager.create(new float[] {0.125f, -0.125f, 0.25f, -0.25f, 0, 0.25f}, new Shape(2, 3));
            assertArrayEquals(before.sub(change).toFloatArray(), weight(model).toFloatArray(), 1e-7f);
        }
    }

    @Test
    void aStepMayBeTakenBeforeTheCollectorIsClosed() {
        Optimizer optimizer = Optimizer.adam().optClipGrad(0.5f).setRescaleGrad(2).build();
        try (Model model = model(1);
                Model other = model(1);
                Trainer inside = newTrainer(model, optimizer);
                Trainer outside = newTrainer(other, optimizer)) {
            for (int step = 0; step < 2; step++) {
                try (GradientCollector collector = inside.newGradientCollector()) {
                    NDList predictions = inside.forward(new NDList(inputs));
                    collector.backward(inside.getLoss().evaluate(new NDList(targets), predictions));
                    inside.step();
                }
            }
            train(outside, 2);
            assertArrayEquals(numbers(other), numbers(model));
        }
    }

    @Test
    void frozenParametersStay() {
        try (Model model = model(1);
                Trainer trainer = sgd(model, 0.1f)) {
            Block block = model.getBlock();
            Parameter bias = block.getParameters().get("bias");
            bias.freeze(true);
            float[] before = bias.getArray().toFloatArray();
            NDArray weight = weight(model).duplicate();
            train(trainer, 2);
            assertArrayEquals(before, bias.getArray().toFloatArray());
            assertFalse(weight.equals(weight(model)));
            block.freezeParameters(true);
            assertEquals(
                    "all parameters are frozen, expected at least one that requires a gradient",
                    assertThrows(IllegalStateException.class, trainer::step).getMessage());
        }
    }

    @Test
    void stepsLeaveNothingBehind() {
        try (Model model = model(1);
                Trainer trainer = sgd(model, 0.1f)) {
            inputs.attach(trainer.getManager());
            long before = 0;
            for (int step = 0; step < 10; step++) {
                NDScope scope = trainer.getManager().scope();
                train(trainer, 1);
                scope.close();
                before = step == 3 ? NativeMemory.usedBytes() : before;
            }
            assertTrue(NativeMemory.usedBytes() <= before);
        }
    }

    @Test
    void aFileOfTheOtherAdamIsRefused(@TempDir Path folder) {
        Path file = folder.resolve("adamw.safetensors");
        try (Model model = model(1);
                Trainer trainer = newTrainer(model, Optimizer.adamW().build())) {
            train(trainer, 1);
            trainer.saveOptimizer(file);
        }
        try (Model model = model(1);
                Trainer trainer = newTrainer(model, Optimizer.adam().build())) {
            String refused = assertThrows(IllegalArgumentException.class, () -> trainer.loadOptimizer(file)).getMessage();
            assertTrue(refused.contains("another optimizer than Adam"), refused);
            assertEquals(0, trainer.getNumSteps());
        }
    }

    @Test
    void aListenerMayCloseTheTrainer() {
        try (Model model = model(1)) {
            int[] ends = {0};
            TrainingListener closing = new TrainingListener() {
                @Override
                public void onTrainingStep(TrainingStep step) {}

                @Override
                public void onTrainingEnd(Trainer trainer) {
                    ends[0]++;
                    trainer.close();
                }
            };
            model.newTrainer(new DefaultTrainingConfig(Loss.l2Loss())
                            .optOptimizer(Optimizer.adamW().build())
                            .addTrainingListeners(closing))
                    .close();
            assertEquals(1, ends[0]);
        }
    }
}
