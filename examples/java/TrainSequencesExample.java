// SPDX-License-Identifier: Apache-2.0
import io.heed.DefaultTrainingConfig;
import io.heed.GradientCollector;
import io.heed.Loss;
import io.heed.Model;
import io.heed.NDArray;
import io.heed.NDList;
import io.heed.NDManager;
import io.heed.Optimizer;
import io.heed.Tracker;
import io.heed.Trainer;
import io.heed.TrainingConfig;
import io.heed.Transformer;

import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CancellationException;

/**
 * Trains a small Transformer to copy sequences of symbols, or to reverse them, which takes seconds. Then it writes
 * sequences that it has not learned from, and the loss of each step is drawn. The losses have the bits of those of
 * examples/c/train_sequences.c.
 *
 * <pre>
 * run train_sequences copy|reverse [PICTURE.svg] [--losses FILE.txt] [--steps NUMBER] [--state FOLDER]
 * </pre>
 *
 * <p>Ends with status 1 if the Transformer has not learned its task. With --state it goes on where the last run with that
 * folder has ended, and leaves its own end there: after the last step, or after Ctrl+C.
 */
public class TrainSequencesExample {
    private static final int NUM_SEQUENCES = 64; // Of a step.
    private static final int NUM_TESTS = 1000;
    private static final float LEARNING_RATE = 3e-3f;
    private static final double MAX_NORM = 1; // Of the gradients.

    private final TrainingArguments arguments;
    private final Sequences.Task task;

    private TrainSequencesExample(TrainingArguments arguments) {
        this.arguments = arguments;
        task = arguments.task.equals("copy") ? Sequences.Task.COPY : Sequences.Task.REVERSE;
    }

    public static void main(String[] args) throws IOException {
        TrainingArguments arguments = TrainingArguments.read(args);
        boolean isLearned;
        try (Interruption interruption = new Interruption()) {
            isLearned = new TrainSequencesExample(arguments).run();
        }
        System.exit(isLearned ? 0 : 1);
    }

    private boolean run() throws IOException {
        TrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optOptimizer(Optimizer.adamW()
                        .optLearningRateTracker(Tracker.fixed(LEARNING_RATE))
                        .build());
        TrainingState state = arguments.state == null ? null : new TrainingState(arguments.state);
        boolean goesOn = state != null && state.exists();
        try (NDManager manager = NDManager.newBaseManager();
                Transformer transformer = SequenceLearner.newTransformer(manager);
                Model model = Model.newInstance("sequences")) {
            model.setBlock(transformer);
            if (goesOn) {
                state.loadModel(model);
            }
            TrainingRecord record = new TrainingRecord(
                    arguments.task, arguments.numSteps, goesOn ? state.readLosses() : List.of());
            boolean isDone;
            try (Trainer trainer = model.newTrainer(config)) {
                if (goesOn) {
                    state.loadOptimizer(trainer);
                }
                isDone = train(trainer, transformer, record);
                if (state != null) {
                    state.save(model, trainer, record.losses());
                }
            }
            return isDone && report(manager, transformer, record);
        }
    }

    /** Returns false if the thread was interrupted. What it has learned until then remains. */
    private boolean train(Trainer trainer, Transformer transformer, TrainingRecord record) {
        try {
            while (record.size() < arguments.numSteps) {
                takeStep(trainer, transformer, record);
            }
            return true;
        } catch (CancellationException stopped) {
            Thread.interrupted(); // Otherwise the thread could not write files.
            System.out.printf("%nstopped after %d of %d steps%n", record.size(), arguments.numSteps);
            return false;
        }
    }

    private void takeStep(Trainer trainer, Transformer transformer, TrainingRecord record) {
        try (NDManager sub = trainer.getManager().newSubManager()) {
            Sequences batch = new Sequences(sub, task, record.size() + 1, NUM_SEQUENCES);
            float loss = computeGradients(trainer, transformer, batch);
            trainer.clipGradients(MAX_NORM);
            trainer.step();
            record.add(loss, batch.numTokens);
        }
    }

    /** Returns the loss: the mean over the labels that count. */
    private static float computeGradients(Trainer trainer, Transformer transformer, Sequences batch) {
        try (GradientCollector collector = trainer.newGradientCollector()) {
            NDArray logits = transformer.forward(batch.inputs().setTraining(true));
            NDArray loss =
                    trainer.getLoss().evaluate(new NDList(batch.labels, batch.targetLens), new NDList(logits));
            collector.backward(loss);
            return loss.getFloat();
        }
    }

    /** Prints the result and writes the files. Returns whether the task is learned. */
    private boolean report(NDManager manager, Transformer transformer, TrainingRecord record) throws IOException {
        // Of sequences that no step had.
        double share = SequenceLearner.shareWrittenRight(transformer, new Sequences(manager, task, 0, NUM_TESTS));
        System.out.printf(
                Locale.ROOT,
                "%s, %d steps: the loss falls from %.3f to %.3f, %.1f %% of %d new sequences are right%n",
                arguments.task,
                record.size(),
                record.first(),
                record.last(),
                100 * share,
                NUM_TESTS);
        if (arguments.picture != null) {
            String title = "A Transformer learns to " + arguments.task;
            LossCurve.write(arguments.picture, title, record.losses(), Math.log(Sequences.NUM_TOKENS));
        }
        if (arguments.losses != null) {
            TrainingState.writeLosses(arguments.losses, record.losses());
        }
        return share >= arguments.leastRight;
    }
}
