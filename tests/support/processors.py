# SPDX-License-Identifier: Apache-2.0
"""The sources of core/ that a build on this processor does not compile, since they are for other processors."""

import platform
import re

PROCESSOR = {"x86_64": "x86", "aarch64": "arm"}.get(platform.machine(), "other")
# core/CMakeLists.txt chooses among the files whose names end like this.
OTHER_PROCESSORS = re.compile(rf"_(?!{PROCESSOR}\b)(arm|other|x86)\.cc$")
