// SPDX-License-Identifier: Apache-2.0
import io.heed.AttentionInputs;
import io.heed.AttentionOutputs;
import io.heed.Block;
import io.heed.DataType;
import io.heed.DefaultTrainingConfig;
import io.heed.FeedForward;
import io.heed.GradientCollector;
import io.heed.Loss;
import io.heed.Model;
import io.heed.MultiHeadAttention;
import io.heed.NDArray;
import io.heed.NDList;
import io.heed.NDManager;
import io.heed.Optimizer;
import io.heed.ParameterStore;
import io.heed.Shape;
import io.heed.Trainer;
import io.heed.TransformerEncoder;
import io.heed.TransformerEncoderBlock;
import io.heed.Wanted;
import io.heed.Workspace;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Locale;

/**
 * The calls of call_cost.c, from Java: after a warm-up, the median of many short samples. Prints a line for each layer
 * and form, "layer form nanoseconds bytes", where bytes is what one call allocates on Java's heap. With --quick samples
 * are so short that the numbers have no meaning.
 */
final class CallCost {
    private static final int SAMPLES = 201;
    private static final int WARM_UP_SAMPLES = 400;
    private static double sampleNanoseconds = 1e6;
    /** The compiler of the JVM runs beside a step for seconds. */
    private static double warmUpSeconds = 5;

    private CallCost() {}

    public static void main(String[] arguments) {
        if (arguments.length > 0 && arguments[0].equals("--quick")) {
            sampleNanoseconds = 1;
            warmUpSeconds = 0;
        }
        measureLayer("toy", new Shape(2, 4, 100), 5);
        measureLayer("least", new Shape(1, 1, 1), 1);
        measureArray();
        measureStep("toy", attention(100, 5).build(), new Shape(2, 4, 100));
        TransformerEncoderBlock.Builder layer = TransformerEncoderBlock.builder()
                .setAttention(attention(128, 4))
                .setFeedForward(FeedForward.builder().setHiddenSize(512));
        measureStep(
                "encoder",
                TransformerEncoder.builder().setLayer(layer).setNumLayers(2).build(),
                new Shape(8, 64, 128));
    }

    private static MultiHeadAttention.Builder attention(long numHiddens, long numHeads) {
        return MultiHeadAttention.builder().setNumHiddens(numHiddens).setNumHeads(numHeads);
    }

    private static void measureStep(String name, Block block, Shape shape) {
        DefaultTrainingConfig config =
                new DefaultTrainingConfig(Loss.l2Loss()).optOptimizer(Optimizer.adamW().build());
        try (NDManager manager = NDManager.newBaseManager();
                Model model = Model.newInstance(name)) {
            model.setBlock(block);
            NDList words = new NDList(manager.randomNormal(shape));
            NDList targets = new NDList(manager.randomNormal(shape));
            block.initialize(manager, DataType.FLOAT32, blockShapes(block, shape));
            NDList inputs = block instanceof MultiHeadAttention
                    ? new NDList(words.head(), words.head(), words.head())
                    : words;
            try (Trainer trainer = model.newTrainer(config)) {
                measure(name, "step", () -> {
                    try (GradientCollector collector = trainer.newGradientCollector()) {
                        NDList outputs = trainer.forward(inputs);
                        NDArray loss = trainer.getLoss().evaluate(targets, outputs);
                        collector.backward(loss);
                        loss.close();
                        outputs.close();
                    }
                    trainer.step();
                });
            }
        }
    }

    private static Shape[] blockShapes(Block block, Shape shape) {
        return block instanceof MultiHeadAttention ? new Shape[] {shape, shape, shape} : new Shape[] {shape};
    }

    private static void measureArray() {
        try (NDManager manager = NDManager.newBaseManager()) {
            NDArray a = manager.ones(new Shape(2, 12));
            NDArray b = manager.ones(new Shape(2, 12));
            NDArray sum = manager.zeros(new Shape(2, 12));
            measure("array", "reused", () -> a.add(b, sum));
            measure("array", "new", () -> a.add(b).close());
        }
    }

    private static void measureLayer(String layer, Shape shape, long numHeads) {
        try (NDManager manager = NDManager.newBaseManager()) {
            MultiHeadAttention attention = MultiHeadAttention.builder()
                    .setNumHiddens(shape.get(2))
                    .setNumHeads(numHeads)
                    .build();
            NDList words = new NDList(manager.ones(shape), manager.ones(shape), manager.ones(shape));
            attention.initialize(manager, DataType.FLOAT32, words.getShapes());
            ParameterStore store = new ParameterStore(manager, false);
            AttentionInputs inputs = new AttentionInputs().setQueries(words.head());
            AttentionOutputs outputs = attention.createOutputs(inputs, Wanted.OUTPUT);
            Workspace workspace = manager.newWorkspace(attention.workspaceSize(inputs, outputs));

            measure(layer, "reused", () -> attention.forward(inputs, outputs, workspace));
            measure(layer, "new", () -> attention.forward(store, words, false).close());
        }
    }

    private static void measure(String layer, String form, Runnable call) {
        long calls = 1;
        long end = System.nanoTime() + (long) (warmUpSeconds * 1e9);
        for (int i = 0; i < WARM_UP_SAMPLES || System.nanoTime() < end; i++) {
            calls = 1 + (long) (sampleNanoseconds / sample(call, calls));
        }
        double[] times = new double[SAMPLES];
        long allocated = allocatedBytes();
        for (int i = 0; i < SAMPLES; i++) {
            times[i] = sample(call, calls);
        }
        allocated = allocatedBytes() - allocated;
        Arrays.sort(times);
        double bytes = (double) allocated / SAMPLES / calls;
        System.out.printf(Locale.ROOT, "%s %s %.1f %.1f%n", layer, form, times[SAMPLES / 2], bytes);
    }

    /** Nanoseconds of one call: the mean over `calls` calls. */
    private static double sample(Runnable call, long calls) {
        long start = System.nanoTime();
        for (long i = 0; i < calls; i++) {
            call.run();
        }
        return (double) (System.nanoTime() - start) / calls;
    }

    private static long allocatedBytes() {
        return ((com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean())
                .getThreadAllocatedBytes(Thread.currentThread().getId());
    }
}
