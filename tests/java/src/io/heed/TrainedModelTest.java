// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Models with blocks of the program, and what a trainer makes of its configuration. */
class TrainedModelTest extends TrainingScene {
    @TempDir
    Path folder;

    @Test
    void initializersAreThoseOfTheConfiguration() {
        TrainingConfig config = new DefaultTrainingConfig(Loss.l2Loss())
                .optInitializer(Initializer.ONES, Parameter.Type.WEIGHT)
                .optInitializer(new ConstantInitializer(7), "bias");
        try (Model model = model(1);
                Trainer trainer = model.newTrainer(config)) {
            trainer.initialize(INPUTS);
            assertArrayEquals(new float[] {1, 1, 1, 1, 1, 1, 7, 7}, numbers(model));
            assertSame(model.getNDManager(), weight(model).getManager());
            assertTrue(config.getOptimizer() instanceof Adam);
        }
    }

    @Test
    void modelsTakeABlock() {
        Model model = Model.newInstance("mine");
        assertEquals("the model \"mine\" has no block: expected load first",
                assertThrows(IllegalStateException.class, model::getBlock).getMessage());
        assertThrows(IllegalStateException.class, () -> model.newTrainer(new DefaultTrainingConfig(Loss.l2Loss())));
        assertThrows(IllegalStateException.class, () -> model.save(folder, "mine"));
        assertThrows(IllegalStateException.class, () -> model.load(folder, "mine"));
        assertEquals("manager", assertThrows(
                NullPointerException.class, () -> model.load(folder, (NDManager) null)).getMessage());
        Linear block = newBlock(1);
        model.setBlock(block);
        assertSame(block, model.getBlock());
        assertEquals("the model \"mine\" has a block already: make another one",
                assertThrows(IllegalStateException.class, () -> model.setBlock(block)).getMessage());
        assertThrows(IllegalStateException.class, () -> model.load(folder));
        assertThrows(IllegalStateException.class, () -> model.save(folder, "mine"));
        assertThrows(ClassCastException.class, () -> {
            ModelBlock other = model.getBlock();
            other.close();
        });
        NDManager own = model.getNDManager();
        assertSame(own, model.getNDManager());
        assertEquals("getDevices's result is [" + Device.ascend(0) + "], expected " + Device.cpu()
                        + ", the device of the model",
                assertThrows(
                        IllegalArgumentException.class,
                        () -> model.newTrainer(new DefaultTrainingConfig(Loss.l2Loss())
                                .optDevices(new Device[] {Device.ascend(0)}))).getMessage());
        assertEquals("2 devices were given, expected 1",
                assertThrows(
                        IllegalArgumentException.class,
                        () -> new DefaultTrainingConfig(Loss.l2Loss())
                                .optDevices(new Device[] {Device.cpu(), Device.cpu()})).getMessage());
        model.close();
        assertFalse(own.isOpen());
        assertThrows(IllegalStateException.class, block::isInitialized);
        assertThrows(IllegalStateException.class, model::getNDManager);
    }

    @Test
    void parametersMayBelongToTheManagerOfTheProgram() {
        try (Model model = model(1)) {
            Block block = model.getBlock();
            block.initialize(manager, DataType.FLOAT32, INPUTS);
            try (Trainer trainer = sgd(model, 0.1f)) {
                float[] before = numbers(model);
                train(trainer, 1);
                assertFalse(Arrays.equals(before, numbers(model)));
            }
            assertSame(manager, weight(model).getManager());
        }
    }

    @Test
    void listenersHearOfTheTraining() {
        List<String> heard = new ArrayList<>();
        TrainingListener listener = new TrainingListener() {
            @Override
            public void onTrainingBegin(Trainer trainer) {
                heard.add("begin " + trainer.getModel().getName());
            }

            @Override
            public void onTrainingStep(TrainingStep step) {
                heard.add("step " + step.getNumber());
            }

            @Override
            public void onTrainingEnd(Trainer trainer) {
                heard.add("end " + trainer.getNumSteps());
            }
        };
        TrainingConfig config = new DefaultTrainingConfig(Loss.l2Loss()).addTrainingListeners(listener);
        try (Model model = model(1)) {
            Trainer trainer = model.newTrainer(config);
            trainer.initialize(INPUTS);
            TrainingProgress progress = trainer.newProgress(2);
            float loss = backward(trainer);
            trainer.step();
            progress.step(loss, INPUTS.size());
            trainer.close();
            trainer.close();
        }
        assertEquals(List.of("begin linear", "step 1", "end 1"), heard);
    }

    @Test
    void closedTrainersThrow() {
        try (Model model = model(1)) {
            Trainer trainer = sgd(model, 0.1f);
            NDManager own = trainer.getManager();
            trainer.close();
            assertFalse(own.isOpen());
            assertEquals("Trainer(linear, step 0, closed)", trainer.toString());
            List<Runnable> calls = List.of(
                    trainer::step,
                    trainer::zeroGradients,
                    trainer::newGradientCollector,
                    () -> trainer.clipGradients(1),
                    () -> trainer.initialize(INPUTS),
                    () -> trainer.forward(new NDList(inputs)),
                    () -> trainer.evaluate(new NDList(inputs)),
                    () -> trainer.newProgress(1),
                    () -> trainer.saveOptimizer(folder.resolve("closed")),
                    () -> trainer.loadOptimizer(folder.resolve("closed")));
            for (Runnable call : calls) {
                assertEquals("the trainer is closed", assertThrows(IllegalStateException.class, call::run).getMessage());
            }
        }
    }

    @Test
    void forwardDropsAndEvaluateDoesNot() {
        try (Model model = Model.newInstance("dropout")) {
            model.setBlock(Dropout.builder().optRate(0.5f).build());
            try (Trainer trainer = model.newTrainer(new DefaultTrainingConfig(Loss.l2Loss()))) {
                NDList ones = new NDList(manager.ones(new Shape(100)));
                assertEquals(100, trainer.evaluate(ones).head().sum().getFloat());
                assertEquals(0, trainer.forward(ones).head().min().getFloat());
            }
        }
    }
}
