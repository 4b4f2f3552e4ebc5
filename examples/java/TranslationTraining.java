// SPDX-License-Identifier: Apache-2.0
import io.heed.DefaultTrainingConfig;
import io.heed.GradientCollector;
import io.heed.Initializer;
import io.heed.Loss;
import io.heed.Model;
import io.heed.NDArray;
import io.heed.NDList;
import io.heed.NDScope;
import io.heed.Optimizer;
import io.heed.Parameter;
import io.heed.Tracker;
import io.heed.Trainer;
import io.heed.TrainingConfig;
import io.heed.XavierInitializer;

/** Trains a block on sentence pairs, all of them in each step. */
final class TranslationTraining {
    private static final double MAX_NORM = 1; // Of the gradients.

    /** Matrices of c columns begin uniformly between -1 / sqrt(c) and 1 / sqrt(c), as PyTorch's linear layers do. */
    private static final Initializer INITIALIZER =
            new XavierInitializer(XavierInitializer.RandomType.UNIFORM, XavierInitializer.FactorType.IN, 1);

    private TranslationTraining() {}

    /**
     * Trains.
     *
     * @param model has a block that gives logits of source ids, their lengths and target ids
     * @return the losses: of each step the mean over the labels that count
     */
    static TrainingRecord train(Model model, SentencePairs pairs, int numSteps, float learningRate) {
        TrainingConfig config = new DefaultTrainingConfig(Loss.maskedSoftmaxCrossEntropyLoss())
                .optOptimizer(Optimizer.adamW()
                        .optLearningRateTracker(Tracker.fixed(learningRate))
                        .build())
                .optInitializer(INITIALIZER, Parameter.Type.WEIGHT);
        TrainingRecord record = new TrainingRecord(model.getName(), numSteps);
        try (Trainer trainer = model.newTrainer(config)) {
            trainer.initialize(pairs.sources.getShape(), pairs.sourceLens.getShape(), pairs.targets.getShape());
            while (record.size() < numSteps) {
                float loss = computeGradients(trainer, pairs);
                trainer.clipGradients(MAX_NORM);
                trainer.step();
                record.add(loss, pairs.numTokens());
            }
        }
        return record;
    }

    private static float computeGradients(Trainer trainer, SentencePairs pairs) {
        // Results belong to the manager of what is read, and are closed with the scope.
        try (NDScope scope = pairs.sources.getManager().scope();
                GradientCollector collector = trainer.newGradientCollector()) {
            NDList inputs = new NDList(pairs.sources, pairs.sourceLens, pairs.targets);
            NDArray logits = trainer.forward(inputs).head();
            // Of each sentence the mean over all rows of the batch, where rows of padding count as 0.
            NDArray loss = trainer.getLoss().evaluate(new NDList(pairs.labels, pairs.targetLens), new NDList(logits));
            collector.backward(loss);
            return loss.sum().getFloat() * pairs.labels.size(1) / pairs.targetLens.sum().getLong();
        }
    }
}
