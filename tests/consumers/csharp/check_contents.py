# SPDX-License-Identifier: Apache-2.0
"""check_contents.py PACKAGE RID READELF PAGE FIELD=VALUE...: checks the contents of PACKAGE.nupkg and PACKAGE.snupkg. Their
fields must be those in CMakeLists.txt; a field with an empty VALUE must be missing. The native libraries may need
only each other and libc, of the version that PAGE states."""

import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
import needed_glibc  # noqa: E402

FRAMEWORKS = ("netstandard2.0", "net8.0")
TARGETS = {f"{folder}/{framework}/Heed.targets" for folder in ("build", "buildTransitive") for framework in ("net462", "netstandard2.0")}
# Files of the package format itself.
FRAME = re.compile(r"^(_rels/|package/|\[Content_Types\]\.xml$)")
LIBC = re.compile(r"^(libc|libm|libpthread|libdl|ld-linux-[a-z0-9-]+)\.so\.[0-9]+$")


def files(package: zipfile.ZipFile) -> set[str]:
    return {name for name in package.namelist() if not FRAME.match(name)}


def dynamic(readelf: str, page: str, library: bytes) -> tuple[set[str], set[str]]:
    """The libraries that a library needs, and the run path on which it searches for them."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(library)
        file.flush()
        text = subprocess.run([readelf, "-dW", file.name], capture_output=True, text=True, check=True).stdout
        problems = needed_glibc.problems(page, readelf, file.name)
        assert not problems, problems
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", text)), set(re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", text))


def main(path: str, rid: str, readelf: str, page: str, *fields: str) -> None:
    natives = f"runtimes/{rid}/native"
    with zipfile.ZipFile(path + ".nupkg") as package:
        expected = {"Heed.nuspec", "README.md", "LICENSE", *TARGETS}
        expected |= {f"lib/{framework}/Heed.{kind}" for framework in FRAMEWORKS for kind in ("dll", "xml")}
        expected |= {f"{natives}/libheed.so.0", f"{natives}/libheed_csharp.so"}
        # The package lacks the notice of nlohmann-json if the build machine does not have it.
        assert files(package) - {"nlohmann-json.copyright"} == expected, files(package) ^ expected

        needed, paths = dynamic(readelf, page, package.read(f"{natives}/libheed.so.0"))
        assert needed and all(map(LIBC.match, needed)) and not paths, (needed, paths)
        needed, paths = dynamic(readelf, page, package.read(f"{natives}/libheed_csharp.so"))
        assert "libheed.so.0" in needed and all(map(LIBC.match, needed - {"libheed.so.0"})), needed
        assert paths == {"$ORIGIN"}, paths

        metadata = ElementTree.fromstring(package.read("Heed.nuspec"))[0]
        said = {child.tag.partition("}")[2]: child for child in metadata}
        for field in fields:
            name, _, value = field.partition("=")
            assert (said[name].text if name in said else "") == value, f"{name} is not {value!r} in {sorted(said)}"
        assert said["license"].get("type") == "expression"
        assert said["readme"].text == "README.md"
        # Without a project address the package states none.
        homepage = dict(field.split("=", 1) for field in fields)["projectUrl"]
        repository = said["repository"].attrib if "repository" in said else {}
        assert repository.get("url", "") == homepage, repository
        assert repository.get("type", "") == ("git" if homepage else ""), repository
        assert "native" in said["tags"].text.split()
    with zipfile.ZipFile(path + ".snupkg") as symbols:
        expected = {"Heed.nuspec"} | {f"lib/{framework}/Heed.pdb" for framework in FRAMEWORKS}
        assert files(symbols) == expected, files(symbols) ^ expected


if __name__ == "__main__":
    main(*sys.argv[1:])
