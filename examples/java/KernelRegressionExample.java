// SPDX-License-Identifier: Apache-2.0
import io.heed.AbstractBlock;
import io.heed.ConstantInitializer;
import io.heed.DataType;
import io.heed.DefaultTrainingConfig;
import io.heed.GradientCollector;
import io.heed.Loss;
import io.heed.Model;
import io.heed.NDArray;
import io.heed.NDList;
import io.heed.NDManager;
import io.heed.Optimizer;
import io.heed.PairList;
import io.heed.Parameter;
import io.heed.ParameterStore;
import io.heed.Shape;
import io.heed.Tracker;
import io.heed.Trainer;
import io.heed.TrainingConfig;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Attention pooling of "Dive into Deep Learning": Nadaraya-Watson kernel regression, whose one parameter is learned. A
 * point's prediction is the mean of the other points' values, weighted by the softmax of how near they are; the parameter
 * says how fast weights fall with the distance.
 *
 * <pre>
 * run kernel_regression [PICTURE.svg]
 * </pre>
 */
public class KernelRegressionExample {
    private static final int NUM_POINTS = 50;
    private static final int NUM_EPOCHS = 40;
    private static final float LEARNING_RATE = 1;

    /** The block of the chapter, with a parameter of its own. */
    static class KernelRegression extends AbstractBlock {
        private final Parameter w = addParameter(Parameter.builder()
                .setName("w")
                .setType(Parameter.Type.WEIGHT)
                .optShape(new Shape(1))
                .optInitializer(new ConstantInitializer(1))
                .build());

        /** Of queries (Q), keys (Q, K) and values (Q, K): the predictions (Q). */
        @Override
        protected NDList forwardInternal(
                ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray keys = inputs.get(1);
            NDArray values = inputs.get(2);
            long numKeys = keys.size(1);
            NDArray queries = inputs.get(0).repeat(numKeys).reshape(-1, numKeys);
            NDArray weights =
                    queries.sub(keys).mul(w.getArray()).pow(2).div(2).mul(-1).softmax(-1);
            return new NDList(
                    weights.expandDims(1).batchDot(values.expandDims(-1)).reshape(-1));
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return new Shape[] {inputShapes[0]};
        }
    }

    public static void main(String[] args) throws IOException {
        try (NDManager manager = NDManager.newBaseManager();
                KernelRegression block = new KernelRegression();
                Model model = Model.newInstance("kernel regression")) {
            manager.setSeed(2);
            NDArray x = manager.randomUniform(0, 5, new Shape(NUM_POINTS)).sort();
            NDArray noise = manager.randomNormal(0, 0.5f, new Shape(NUM_POINTS), DataType.FLOAT32);
            NDArray y = truth(x).add(noise);
            // Row i has all points but point i, which would see its own value.
            NDArray others = manager.eye(NUM_POINTS).eq(0);
            NDArray keys = rowsOf(x, others);
            NDArray values = rowsOf(y, others);

            Loss loss = Loss.l2Loss();
            Tracker rate = Tracker.fixed(LEARNING_RATE);
            TrainingConfig config = new DefaultTrainingConfig(loss)
                    .optOptimizer(Optimizer.sgd().setLearningRateTracker(rate).build());
            model.setBlock(block);
            List<Float> losses = new ArrayList<>();
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(x.getShape(), keys.getShape(), values.getShape());
                for (int epoch = 0; epoch < NUM_EPOCHS; epoch++) {
                    try (GradientCollector collector = trainer.newGradientCollector()) {
                        NDArray predictions =
                                trainer.forward(new NDList(x, keys, values)).head();
                        NDArray l = trainer.getLoss().evaluate(new NDList(y), new NDList(predictions));
                        collector.backward(l);
                        losses.add(l.getFloat());
                    }
                    trainer.step();
                }
            }

            NDArray mean = values.mean(new int[] {1});
            float ofMean = loss.evaluate(new NDList(y), new NDList(mean)).getFloat();
            float w = block.getParameters().valueAt(0).getArray().getFloat(0);
            print("the mean of the others: loss %.3f%n", ofMean);
            print("attention, %d epochs: the loss falls from %.3f to %.3f; w is %.2f%n",
                    NUM_EPOCHS, losses.get(0), losses.get(NUM_EPOCHS - 1), w);
            printErrors(block, x, y);
            if (args.length > 0) {
                LossCurve.write(Path.of(args[0]), "Kernel regression learns its width", losses, ofMean);
            }
        }
    }

    /** What the points are drawn from, before the noise. */
    private static NDArray truth(NDArray x) {
        return x.sin().mul(2).add(x.pow(0.8));
    }

    /** As many rows as the mask has, each with the elements that the mask's row chooses. */
    private static NDArray rowsOf(NDArray elements, NDArray mask) {
        long numRows = mask.size(0);
        return elements.tile(new long[] {numRows, 1}).booleanMask(mask).reshape(numRows, -1);
    }

    /** How far new predictions are from the truth. */
    private static void printErrors(KernelRegression block, NDArray x, NDArray y) {
        NDArray queries = x.getManager().arange(0f, 5f, 0.1f);
        long[] repeats = {queries.size(0), 1};
        NDArray predictions =
                block.forward(queries, x.tile(repeats), y.tile(repeats)).head();
        print("distance to the truth, root of the mean square: %.2f; that of the mean of all points: %.2f%n",
                distance(predictions, truth(queries)), distance(y.mean(), truth(queries)));
    }

    private static double distance(NDArray a, NDArray b) {
        return Math.sqrt(a.sub(b).pow(2).mean().getFloat());
    }

    private static void print(String format, Object... arguments) {
        System.out.printf(Locale.ROOT, format, arguments);
    }
}
