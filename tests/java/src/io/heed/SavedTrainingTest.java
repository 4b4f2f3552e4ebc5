// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Training that goes on from the files of parameters and of the optimizer. */
class SavedTrainingTest extends TrainingScene {
    @TempDir
    Path folder;

    private Optimizer adamW() {
        return Optimizer.adamW()
                .optLearningRateTracker(Tracker.factor().setBaseValue(0.1f).setFactor(0.8f).build())
                .optBeta1(0.7f)
                .build();
    }

    /** A composed block with the same inputs and outputs. */
    private static Model composed(long seed) {
        Model model = Model.newInstance("composed");
        SequentialBlock block = new SequentialBlock()
                .add(Linear.builder().setUnits(4).build())
                .add(Activation.geluBlock())
                .add(newBlock(0));
        block.setSeed(seed);
        model.setBlock(block);
        return model;
    }

    private void assertGoesOn(Model model, Model other) {
        try (Trainer trainer = newTrainer(model, adamW())) {
            train(trainer, 3);
            model.save(folder.resolve("made"), "parameters");
            trainer.saveOptimizer(folder.resolve("optimizer.safetensors"));
            train(trainer, 3);
        }
        // The numbers of the file count, not those of this optimizer.
        Optimizer defaults = Optimizer.adamW()
                .optLearningRateTracker(Tracker.factor().setBaseValue(0.1f).setFactor(0.8f).build())
                .build();
        try (Trainer trainer = newTrainer(other, defaults)) {
            assertFalse(Arrays.equals(numbers(model), numbers(other)));
            other.load(folder.resolve("made"), "parameters");
            trainer.loadOptimizer(folder.resolve("optimizer.safetensors"));
            assertEquals(3, trainer.getNumSteps());
            train(trainer, 3);
            assertEquals(6, trainer.getNumSteps());
        }
        assertArrayEquals(numbers(model), numbers(other));
    }

    @Test
    void savedTrainingGoesOnWithTheSameBits() {
        try (Model model = model(1);
                Model other = model(2)) {
            assertGoesOn(model, other);
        }
    }

    @Test
    void savedTrainingOfComposedBlocksGoesOnWithTheSameBits() {
        try (Model model = composed(1);
                Model other = composed(2)) {
            assertGoesOn(model, other);
        }
    }

    @Test
    void optimizersRefuseOtherFiles() {
        Path file = folder.resolve("optimizer.safetensors");
        try (Model model = model(1);
                Trainer trainer = newTrainer(model, adamW());
                Model other = model(2);
                Trainer sgd = sgd(other, 0.1f)) {
            train(trainer, 2);
            trainer.saveOptimizer(file);
            train(sgd, 1);
            assertThrows(IllegalArgumentException.class, () -> sgd.loadOptimizer(file));
            assertEquals(1, sgd.getNumSteps());
            train(sgd, 1);
            assertEquals(List.of(1, 2), asked);
            HeedException missing = assertThrows(
                    HeedException.class, () -> trainer.loadOptimizer(folder.resolve("missing.safetensors")));
            assertEquals(Status.IO, missing.getStatus());
            assertEquals(2, trainer.getNumSteps());
            assertThrows(HeedException.class, () -> trainer.saveOptimizer(folder.resolve("no/such.safetensors")));
        }
    }
}
