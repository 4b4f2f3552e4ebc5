// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** C's structs of options for one call, some of which point to others. All are closed together, after the call. */
final class NativeStructs implements AutoCloseable {
    private final List<NativeStruct> structs = new ArrayList<>();
    /** The arrays that structs point to. */
    private final List<ByteBuffer> arrays = new ArrayList<>();

    /** Adds a struct. */
    <S extends NativeStruct> S add(S struct) {
        structs.add(struct);
        return struct;
    }

    /** The address of an array with the addresses of structs, for a member that points to one. */
    long addressesOf(List<? extends NativeStruct> pointed) {
        ByteBuffer addresses = ByteBuffer.allocateDirect(pointed.size() * Long.BYTES).order(ByteOrder.nativeOrder());
        pointed.forEach(struct -> addresses.putLong(NativeStruct.pointerOf(struct)));
        arrays.add(addresses);
        return HeedNative.addressOf(addresses);
    }

    @Override
    public void close() {
        structs.forEach(NativeStruct::close);
    }
}
