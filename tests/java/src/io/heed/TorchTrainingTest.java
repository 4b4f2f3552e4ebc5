// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.Map;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A Transformer that learns to copy in ten steps, against PyTorch's nn.Transformer in float64. */
class TorchTrainingTest {
    private static final Path FILE = TestFiles.golden("torch_training");
    /** As in the same test of C. */
    private static final double LOSS_TOLERANCE = 1e-6;

    private static final double NORM_TOLERANCE = 6e-6;
    private static final long STEPS = 10;
    private static final Map<String, String> PREFIXES = Map.of(
            "encoder.layers.0", "transformer.encoder.layers.0",
            "encoder.norm", "transformer.encoder.norm",
            "decoder.layers.0", "transformer.decoder.layers.0",
            "decoder.norm", "transformer.decoder.norm",
            "encoder.embedding", "source_embedding",
            "decoder.embedding", "target_embedding",
            "output", "projection");

    private NDManager manager;

    @BeforeEach
    void open() {
        manager = NDManager.newBaseManager();
    }

    @AfterEach
    void close() {
        manager.close();
    }

    private static Transformer newTransformer() {
        MultiHeadAttention.Builder attention =
                MultiHeadAttention.builder().setNumHiddens(16).setNumHeads(2).optBias(true);
        MultiHeadAttention.Builder causal = MultiHeadAttention.builder()
                .setNumHiddens(16)
                .setNumHeads(2)
                .optBias(true)
                .optCausal(Causal.TOP_LEFT);
        FeedForward.Builder feedForward = FeedForward.builder().setHiddenSize(18);
        Embedding.Builder embedding = Embedding.builder().setNumEmbeddings(11).optScale(4);
        PositionalEncoding.Builder positions = PositionalEncoding.builder().setMaxLen(7);
        return Transformer.builder()
                .setEncoder(TransformerEncoder.builder()
                        .setLayer(TransformerEncoderBlock.builder()
                                .setAttention(attention)
                                .setFeedForward(feedForward))
                        .setNumLayers(1)
                        .optFinalNorm(true)
                        .optEmbedding(embedding)
                        .optPositions(positions))
                .setDecoder(TransformerDecoder.builder()
                        .setLayer(TransformerDecoderBlock.builder()
                                .setSelfAttention(causal)
                                .optCrossAttention(attention)
                                .setFeedForward(feedForward))
                        .setNumLayers(1)
                        .optFinalNorm(true)
                        .optEmbedding(embedding)
                        .optPositions(positions))
                .optOutput(OutputOptions.builder().setSize(11).optBias(true).build())
                .build();
    }

    private static NativeBlock child(Block parent, String name) {
        for (Pair<String, Block> each : parent.getChildren()) {
            if (name.equals(each.getKey())) {
                return (NativeBlock) each.getValue();
            }
            if (name.startsWith(each.getKey() + ".")) {
                return child(each.getValue(), name.substring(each.getKey().length() + 1));
            }
        }
        throw new IllegalArgumentException(name);
    }

    private double[] numbers(String name) {
        return manager.load(FILE, name).toDoubleArray();
    }

    @ParameterizedTest
    @ValueSource(strings = {"sgd", "adamw"})
    void isPyTorchsStepByStep(String name) {
        Optimizer optimizer = name.equals("sgd")
                ? Optimizer.sgd().setLearningRateTracker(Tracker.fixed(0.05f)).optMomentum(0.9f).build()
                : Optimizer.adamW().optLearningRateTracker(Tracker.fixed(0.003f)).build();
        NDArray sources = manager.load(FILE, name + ".input.source");
        NDArray targets = manager.load(FILE, name + ".input.target_input");
        NDArray labels = manager.load(FILE, name + ".input.target");
        NDArray lengths = manager.load(FILE, name + ".input.source_lens");
        double[] losses = numbers(name + ".losses");
        double[] norms = numbers(name + ".gradient_norms");
        try (Model model = Model.newInstance(name)) {
            Transformer transformer = newTransformer();
            model.setBlock(transformer);
            try (Trainer trainer = model.newTrainer(
                    new DefaultTrainingConfig(Loss.maskedSoftmaxCrossEntropyLoss()).optOptimizer(optimizer))) {
                trainer.initialize(new Shape(4, 7), new Shape(4, 6), new Shape(4));
                PREFIXES.forEach((child, prefix) -> child(transformer, child).load(FILE, name + ".param." + prefix));
                for (long step = 0; step < STEPS; step++) {
                    // A target has one row more than its source.
                    NDArray rows = lengths.get(step).add(1);
                    float factor = 7f / rows.toType(DataType.FLOAT32, false).sum().getFloat();
                    float loss;
                    try (GradientCollector collector = trainer.newGradientCollector()) {
                        NDList logits = trainer.forward(
                                new NDList(targets.get(step), sources.get(step), lengths.get(step)));
                        // The mean over rows within the lengths.
                        NDArray mean = trainer.getLoss()
                                .evaluate(new NDList(labels.get(step), rows), logits)
                                .sum()
                                .mul(factor);
                        collector.backward(mean);
                        loss = mean.getFloat();
                    }
                    assertEquals(1, loss / losses[(int) step], LOSS_TOLERANCE, "loss of step " + step);
                    double norm = trainer.clipGradients(name.equals("sgd") ? 1e9 : 1);
                    assertEquals(1, norm / norms[(int) step], NORM_TOLERANCE, "norm of step " + step);
                    trainer.step();
                }
            }
        }
    }
}
