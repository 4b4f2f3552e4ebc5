// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

import org.junit.jupiter.api.Test;

/** Builders say what was set so far. */
class BuilderTextTest {
    @Test
    void everyBuilder() throws Exception {
        int count = 0;
        for (Class<?> type : ReflectionTest.publicClasses()) {
            for (Method method : type.getDeclaredMethods()) {
                if (method.getName().equals("builder") && Modifier.isStatic(method.getModifiers())) {
                    Object builder = method.invoke(null);
                    String beginning = type.getSimpleName() + ".Builder(";
                    assertTrue(builder.toString().startsWith(beginning), builder.toString());
                    assertTrue(builder.toString().endsWith(")"), builder.toString());
                    count++;
                }
            }
        }
        assertEquals(30, count);
    }

    @Test
    void whatWasSet() {
        assertEquals("Linear.Builder(units=5, bias=false)", Linear.builder().setUnits(5).optBias(false).toString());
        assertEquals(
                "ContextOptions.Builder(numThreads=2, strict=true, allowReducedPrecision=false)",
                ContextOptions.builder().optNumThreads(2).optStrict(true).toString());
        assertEquals(
                "TransformerEncoder.Builder(numLayers=3, finalNorm=false, layer=null)",
                TransformerEncoder.builder().setNumLayers(3).toString());
        assertEquals("FactorTracker.Builder(baseValue=2.0, factor=0.5)",
                FactorTracker.builder().setBaseValue(2).setFactor(0.5f).toString());
        assertEquals("AdamW.Builder(beta1=0.9, beta2=0.5, epsilon=1.0E-8, weightDecays=0.01)",
                AdamW.builder().optBeta2(0.5f).toString());
        assertEquals(
                "AdditiveAttention.Builder(numHiddens=7, dropout=0.0)",
                AdditiveAttention.builder().setNumHiddens(7).toString());
    }
}
