// SPDX-License-Identifier: Apache-2.0
module consumer {
    requires io.heed;
}
