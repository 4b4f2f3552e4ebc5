// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.ArrayList;
import java.util.List;

/** C's structs of options for one call, some of which point to others. All are closed together, after the call. */
final class NativeStructs implements AutoCloseable {
    private final List<NativeStruct> structs = new ArrayList<>();

    /** Adds a struct. */
    <S extends NativeStruct> S add(S struct) {
        structs.add(struct);
        return struct;
    }

    @Override
    public void close() {
        structs.forEach(NativeStruct::close);
    }
}
