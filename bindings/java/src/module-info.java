// SPDX-License-Identifier: Apache-2.0
/** Multi-head attention, computed by the native library heed, which the jar of this module brings along. */
module io.heed {
    exports io.heed;
}
