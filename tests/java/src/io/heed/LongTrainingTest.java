// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;

import org.junit.jupiter.api.Test;

/** A long training keeps nothing of its steps, which all make the same few objects. */
class LongTrainingTest {
    private static final int NUM_STEPS = 10_000;
    /** After these the machine has compiled what it will. */
    private static final int FIRST_STEPS = 4000;
    /** A step makes fewer bytes of objects. */
    private static final long MAX_BYTES = 20_000;

    private static final Shape IDS = new Shape(2, 4);

    private static Transformer transformer() {
        MultiHeadAttention.Builder attention =
                MultiHeadAttention.builder().setNumHiddens(8).setNumHeads(2);
        FeedForward.Builder feedForward = FeedForward.builder().setHiddenSize(8);
        return Transformer.builder()
                .setEncoder(TransformerEncoder.builder()
                        .setLayer(TransformerEncoderBlock.builder()
                                .setAttention(attention)
                                .setFeedForward(feedForward))
                        .setNumLayers(1))
                .setDecoder(TransformerDecoder.builder()
                        .setLayer(TransformerDecoderBlock.builder()
                                .setSelfAttention(attention)
                                .optCrossAttention(attention)
                                .setFeedForward(feedForward))
                        .setNumLayers(1))
                .optEmbedding(Embedding.builder().setNumEmbeddings(5))
                .optOutput(OutputOptions.builder().setSize(5).build())
                .build();
    }

    private static long allocatedBytes() {
        return ((com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean())
                .getThreadAllocatedBytes(Thread.currentThread().getId());
    }

    @Test
    void tenThousandStepsOfATransformer() {
        DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                .optOptimizer(Optimizer.adamW().build());
        try (NDManager manager = NDManager.newBaseManager();
                Model model = Model.newInstance("long")) {
            model.setBlock(transformer());
            NDArray ids = manager.create(new long[] {0, 1, 2, 3, 4, 3, 2, 1}, IDS);
            NDList inputs = new NDList(ids, ids);
            NDList labels = new NDList(ids);
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(IDS, IDS);
                run(trainer, inputs, labels, FIRST_STEPS);
                long used = NativeMemory.usedBytes();
                long perStep = run(trainer, inputs, labels, 1000);
                run(trainer, inputs, labels, NUM_STEPS - FIRST_STEPS - 2000);
                long perLateStep = run(trainer, inputs, labels, 1000);
                assertEquals(used, NativeMemory.usedBytes());
                assertEquals(NUM_STEPS, trainer.getNumSteps());
                // The compiler may find later that some objects are not needed.
                assertTrue(perLateStep < perStep * 1.02 + 64, perStep + " bytes, then " + perLateStep);
                assertTrue(perStep < MAX_BYTES, perStep + " bytes");
            }
        }
    }

    /** Returns how many bytes of objects a step has made. */
    private static long run(Trainer trainer, NDList inputs, NDList labels, int numSteps) {
        long before = allocatedBytes();
        for (int i = 0; i < numSteps; i++) {
            try (GradientCollector collector = trainer.newGradientCollector();
                    NDList logits = trainer.forward(inputs);
                    NDArray loss = trainer.getLoss().evaluate(labels, logits)) {
                collector.backward(loss);
            }
            trainer.step();
        }
        return (allocatedBytes() - before) / numSteps;
    }
}
