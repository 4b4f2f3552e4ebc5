// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class DeviceTest {
    @Test
    void hasATypeAndANumber() {
        assertEquals("cpu", Device.cpu().getDeviceType());
        assertEquals(0, Device.cpu().getDeviceId());
        assertEquals("cpu()", Device.cpu().toString());
        assertEquals("ascend", Device.ascend(3).getDeviceType());
        assertEquals(3, Device.ascend(3).getDeviceId());
        assertEquals("ascend(3)", Device.ascend(3).toString());
        assertEquals(Device.ascend(3), Device.ascend(3));
        assertEquals(Device.ascend(3).hashCode(), Device.ascend(3).hashCode());
        assertNotEquals(Device.ascend(3), Device.ascend(0));
        assertNotEquals(Device.cpu(), Device.ascend(0));
        assertNotEquals(Device.cpu(), "cpu()");
    }

    @Test
    void refusesWhatIsNone() {
        assertEquals(
                "index is -1, expected 0 or more",
                assertThrows(IllegalArgumentException.class, () -> Device.ascend(-1)).getMessage());
        assertEquals(
                "deviceType is gpu, expected cpu or ascend",
                assertThrows(IllegalArgumentException.class, () -> Device.getCount("gpu")).getMessage());
    }

    @Test
    void namesOfDevices() {
        assertEquals(Device.cpu(), Device.fromName("cpu"));
        assertEquals(Device.ascend(0), Device.fromName("ascend"));
        assertEquals(Device.ascend(), Device.fromName("ascend0"));
        assertEquals(Device.ascend(12), Device.fromName("ascend12"));
        for (String name : new String[] {"", "gpu", "cpu0", "Ascend", "ascend(0)", "ascend-1", "ascend9999999999"}) {
            assertEquals(
                    "deviceName is \"" + name + "\", expected \"cpu\", \"ascend\" or, with an index, \"ascend0\"",
                    assertThrows(IllegalArgumentException.class, () -> Device.fromName(name)).getMessage());
        }
        assertThrows(NullPointerException.class, () -> Device.fromName(null));
    }

    @Test
    void optionsAreWhatTheyWereBuiltAs() {
        ContextOptions defaults = ContextOptions.builder().build();
        assertEquals(0, defaults.getNumThreads());
        assertFalse(defaults.isStrict());
        assertFalse(defaults.isAllowReducedPrecision());
        ContextOptions.Builder builder = ContextOptions.builder().optNumThreads(3);
        ContextOptions threads = builder.build();
        ContextOptions all = builder.optStrict(true).optAllowReducedPrecision(true).build();
        assertEquals(3, threads.getNumThreads());
        assertFalse(threads.isStrict());
        assertTrue(all.isStrict());
        assertTrue(all.isAllowReducedPrecision());
        assertEquals("ContextOptions(numThreads=3, strict=true, allowReducedPrecision=true)", all.toString());
        assertEquals(threads, ContextOptions.builder().optNumThreads(3).build());
        assertEquals(threads.hashCode(), ContextOptions.builder().optNumThreads(3).build().hashCode());
        assertNotEquals(threads, all);
        assertNotEquals(defaults, threads);
        assertNotEquals(defaults, ContextOptions.builder().optStrict(true).build());
        assertNotEquals(defaults, ContextOptions.builder().optAllowReducedPrecision(true).build());
        ContextOptions flushing = ContextOptions.builder().optFlushSubnormals(true).build();
        assertFalse(defaults.isFlushSubnormals());
        assertTrue(flushing.isFlushSubnormals());
        assertNotEquals(defaults, flushing);
        assertEquals(flushing, ContextOptions.builder().optFlushSubnormals(true).build());
        assertEquals(
                "ContextOptions(numThreads=0, strict=false, allowReducedPrecision=false, flushSubnormals=true)",
                flushing.toString());
    }
}
