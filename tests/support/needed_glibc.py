# SPDX-License-Identifier: Apache-2.0
"""Compares the glibc that a built library needs with the one that a page states."""

import re
import subprocess
from pathlib import Path


def newest(readelf, library):
    """The newest version of glibc's symbols that the library needs, as numbers: (2, 17)."""
    command = [readelf, "--version-info", "--wide", library]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    versions = re.findall(r"Name: GLIBC_([0-9.]+)", text)
    return max(tuple(int(number) for number in version.split(".")) for version in versions)


def problems(page, readelf, library):
    """The problems of a page, which must say 'glibc 2.17 or newer' once or more, always with the same number, and of the
    library, which may need nothing newer."""
    stated = set(re.findall(r"glibc ([0-9.]+[0-9]) or newer", Path(page).read_text(encoding="utf-8")))
    if len(stated) != 1:
        return [f"{page} says 'glibc ... or newer' with {sorted(stated)}, expected one number"]
    needed = ".".join(str(number) for number in newest(readelf, library))
    print(f"{page}: glibc {min(stated)}, and {Path(library).name} needs {needed}")
    if newest(readelf, library) <= tuple(int(number) for number in min(stated).split(".")):
        return []
    return [f"{page} says glibc {min(stated)}, but {Path(library).name} needs {needed}"]
