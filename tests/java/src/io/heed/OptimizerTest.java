// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The numbers of optimizers: PyTorch's, and of Adam DJL's. */
class OptimizerTest {
    private static final ByteBuffer WEIGHT = NativeText.of("weight", "name");

    private NDManager manager;

    @BeforeEach
    void open() {
        manager = NDManager.newBaseManager();
    }

    @AfterEach
    void close() {
        manager.close();
    }

    /** A parameter after each of some steps, whose gradients are given. */
    private float[][] steps(Optimizer optimizer, float[] start, float[]... gradients) {
        NativeContext context = manager.openContext();
        float[][] after = new float[gradients.length][start.length];
        try (NativeLayer layer = Linear.builder().setUnits(1).optBias(false).build().newLayer(context);
                NDArray value = manager.create(start, new Shape(1, start.length));
                NativeOptimizer state = optimizer.newState(context)) {
            layer.setParameter(WEIGHT, value.tensor());
            try (NativeGradients set = NativeGradients.create(layer);
                    NativeTensor gradient = set.tensor(WEIGHT)) {
                for (int step = 0; step < gradients.length; step++) {
                    gradient.write(gradients[step]);
                    state.setLearningRate(optimizer.learningRate(step + 1));
                    state.step(layer, set);
                    try (NativeTensor now = layer.parameter(WEIGHT)) {
                        now.read(after[step]);
                    }
                }
            }
        }
        return after;
    }

    private void assertSteps(Optimizer optimizer, float[] gradients, double... expected) {
        float[][] each = new float[gradients.length][];
        for (int i = 0; i < each.length; i++) {
            each[i] = new float[] {gradients[i]};
        }
        float[][] after = steps(optimizer, new float[] {1}, each);
        for (int i = 0; i < each.length; i++) {
            assertEquals(expected[i], after[i][0], 1.5e-7, "step " + i);
        }
    }

    @Test
    void haveTheirNumbers() {
        float[] gradients = {0.5f, -0.25f, 0.125f};
        float[] tiny = {1e-7f, 1e-7f, 1e-7f};
        Sgd sgd = Optimizer.sgd().setLearningRateTracker(Tracker.fixed(0.1f)).optMomentum(0.9f).build();
        assertSteps(sgd, gradients, 0.95, 0.93, 0.8995);
        AdamW adamW = Optimizer.adamW().build();
        assertSteps(adamW, gradients, 0.99899, 0.998713673, 0.998363257);
        assertSteps(adamW, tiny, 0.999080909, 0.998161827, 0.997242755);
        Adam adam = Optimizer.adam().build();
        assertSteps(adam, gradients, 0.999, 0.998733663, 0.998393214);
    }

    @Test
    void adamPlacesEpsilonAsDjl() {
        // Of these gradients the root of the second moment is about 3e-9 before its bias is corrected, less than epsilon.
        float[] after = new float[3];
        double m = 0;
        double v = 0;
        double p = 1;
        for (int t = 1; t <= 3; t++) {
            m = 0.9 * m + 0.1 * 1e-7;
            v = 0.999 * v + 0.001 * 1e-14;
            double rate = 0.001 * Math.sqrt(1 - Math.pow(0.999, t)) / (1 - Math.pow(0.9, t));
            p -= rate * m / (Math.sqrt(v) + 1e-8);
            after[t - 1] = (float) p;
        }
        assertSteps(Optimizer.adam().build(), new float[] {1e-7f, 1e-7f, 1e-7f}, after[0], after[1], after[2]);
    }

    private double[] golden(String name) {
        try (NDArray array = manager.load(TestFiles.golden("torch_optimizers"), name)) {
            return array.toType(DataType.FLOAT64, false).toDoubleArray();
        }
    }

    private void assertGolden(String name, Optimizer optimizer) {
        double[] start = golden(name + ".param.a");
        double[] gradients = golden(name + ".input.gradients.a");
        double[] expected = golden(name + ".params.a");
        int size = start.length;
        float[][] each = new float[6][size];
        float[] first = new float[size];
        for (int i = 0; i < size; i++) {
            first[i] = (float) start[i];
            for (int step = 0; step < 6; step++) {
                each[step][i] = (float) gradients[step * size + i];
            }
        }
        float[][] after = steps(optimizer, first, each);
        for (int step = 0; step < 6; step++) {
            for (int i = 0; i < size; i++) {
                assertEquals(expected[step * size + i], after[step][i], 3e-6, name + " step " + step);
            }
        }
    }

    /** The learning rates of a case, one for each of two groups, of which this is the first. */
    private Tracker ratesOf(String name) {
        double[] rates = golden(name + ".learning_rates");
        return step -> (float) rates[2 * (step - 1)];
    }

    @Test
    void agreeWithPyTorch() {
        assertGolden("sgd", Optimizer.sgd().setLearningRateTracker(ratesOf("sgd")).build());
        assertGolden("sgd_momentum_decay", Optimizer.sgd()
                .setLearningRateTracker(ratesOf("sgd_momentum_decay"))
                .optMomentum(0.9f)
                .optWeightDecays(0.01f)
                .build());
        assertGolden("sgd_schedule", Optimizer.sgd()
                .setLearningRateTracker(ratesOf("sgd_schedule"))
                .optMomentum(0.9f)
                .build());
        // Not "adam": it has gradients near epsilon, which DJL places elsewhere.
        assertGolden("adam_l2", Optimizer.adam()
                .optLearningRateTracker(ratesOf("adam_l2"))
                .optWeightDecays(0.1f)
                .optBeta1(0.8f)
                .optBeta2(0.95f)
                .build());
        assertGolden("adamw", Optimizer.adamW().optLearningRateTracker(ratesOf("adamw")).build());
        assertGolden("adamw_decay", Optimizer.adamW()
                .optLearningRateTracker(ratesOf("adamw_decay"))
                .optWeightDecays(0.1f)
                .optBeta2(0.98f)
                .optEpsilon(1e-9f)
                .build());
        assertGolden("adamw_schedule", Optimizer.adamW()
                .optLearningRateTracker(ratesOf("adamw_schedule"))
                .optWeightDecays(0.05f)
                .build());
    }

    /** The macro of C has 0.9 and 0.999 as doubles, which are other numbers than 0.9f and 0.999f. */
    @Test
    void defaultsHaveTheBitsOfC() {
        NativeContext context = manager.openContext();
        float[] start = {1, -2, 3};
        float[][] gradients = {{0.3f, 1e-3f, -7}, {0.1f, 2e-3f, 5}, {-0.7f, 3e-3f, 1}};
        float[][] after = steps(Optimizer.adamW().build(), start, gradients);
        Optimizer ofC = new Optimizer(Optimizer.adamW()) {
            @Override
            NativeOptimizer newState(NativeContext where) {
                try (NativeAdamWOptions options = new NativeAdamWOptions()) {
                    return HeedNative.heed_adamw_create(context, options);
                }
            }
        };
        float[][] expected = steps(ofC, start, gradients);
        for (int step = 0; step < 3; step++) {
            assertArrayEquals(expected[step], after[step]);
        }
    }

    @Test
    void numbersOutOfRangeAreRefused() {
        Tracker rate = Tracker.fixed(0.1f);
        refused("momentum", () -> Optimizer.sgd().setLearningRateTracker(rate).optMomentum(-1).build());
        refused("weight", () -> Optimizer.sgd().setLearningRateTracker(rate).optWeightDecays(-1).build());
        refused("beta1", () -> Optimizer.adam().optBeta1(1).build());
        refused("beta2", () -> Optimizer.adamW().optBeta2(-0.5f).build());
        refused("epsilon", () -> Optimizer.adam().optEpsilon(Float.NaN).build());
        refused("rescaleGrad is Infinity, expected a finite number",
                () -> Optimizer.adam().setRescaleGrad(Float.POSITIVE_INFINITY).build());
        refused("clipGrad is NaN, expected a number", () -> Optimizer.adam().optClipGrad(Float.NaN).build());
        NullPointerException missing =
                assertThrows(NullPointerException.class, () -> Optimizer.sgd().build());
        assertEquals(
                "learningRateTracker is not set: call setLearningRateTracker, as with Tracker.fixed(0.1f)",
                missing.getMessage());
        assertEquals("learningRateTracker", assertThrows(
                NullPointerException.class, () -> Optimizer.adam().optLearningRateTracker(null)).getMessage());
    }

    private static void refused(String part, Runnable call) {
        IllegalArgumentException error = assertThrows(IllegalArgumentException.class, call::run);
        assertTrue(error.getMessage().contains(part), error.getMessage());
    }

    @Test
    void describeThemselves() {
        assertEquals("Sgd(momentum=0.5, weightDecays=0.0)",
                Sgd.builder().setLearningRateTracker(Tracker.fixed(1)).optMomentum(0.5f).build().toString());
        assertEquals("Adam(beta1=0.9, beta2=0.999, epsilon=1.0E-8, weightDecays=0.0)",
                Adam.builder().build().toString());
        assertEquals("AdamW(beta1=0.9, beta2=0.999, epsilon=1.0E-8, weightDecays=0.01)",
                AdamW.builder().build().toString());
    }
}
