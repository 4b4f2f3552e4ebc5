# SPDX-License-Identifier: Apache-2.0
"""Checks the contents of the Java packages: classes, libraries and documentation, and the fields of the pom."""

import argparse
import hashlib
import html
import posixpath
import re
import subprocess
import sys
import tempfile
import urllib.parse
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
import needed_glibc  # noqa: E402
import stated_size  # noqa: E402

MAVEN = {"m": "http://maven.apache.org/POM/4.0.0"}
JAVA_11 = 55
SYSTEM_LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}

parser = argparse.ArgumentParser()
for name in "repository group artifact version license url author description sources generated page readelf".split():
    parser.add_argument(f"--{name}", required=True)
arguments = parser.parse_args()

folder = Path(arguments.repository, *arguments.group.split("."), arguments.artifact, arguments.version)
stem = f"{arguments.artifact}-{arguments.version}"
problems = []


def require(holds, sentence):
    if not holds:
        problems.append(sentence)


def names_in(jar):
    return {name for name in jar.namelist() if not name.endswith("/")}


# ---- the folder -----------------------------------------------------------------------------------------------------
files = {f"{stem}.jar", f"{stem}.pom", f"{stem}-sources.jar", f"{stem}-javadoc.jar"}
for name in files:
    content = (folder / name).read_bytes()
    for kind in ("md5", "sha1"):
        written = (folder / f"{name}.{kind}").read_text()
        require(written == hashlib.new(kind, content).hexdigest(), f"{name}.{kind} is wrong")
found = {path.name for path in folder.iterdir()}
checksums = {f"{name}.{kind}" for name in files for kind in ("md5", "sha1")}
require(found == files | checksums, f"the folder has {sorted(found)}")

# ---- the jar --------------------------------------------------------------------------------------------------------
paths = {path.relative_to(arguments.sources).as_posix(): path for path in Path(arguments.sources).rglob("*.java")}
paths |= {f"io/heed/{path.name}": path for path in Path(arguments.generated).glob("*.java")}
sources = set(paths)
documented = sources - {"module-info.java", "io/heed/package-info.java"}
with zipfile.ZipFile(folder / f"{stem}.jar") as jar:
    names = names_in(jar)
    classes = {name for name in names if name.endswith(".class")}
    natives = {name for name in names if name.startswith("io/heed/native/")}
    pom = f"META-INF/maven/{arguments.group}/{arguments.artifact}/pom.xml"
    others = {"META-INF/MANIFEST.MF", "META-INF/LICENSE", "META-INF/nlohmann-json.copyright", pom}
    require(names - classes - natives <= others, f"heed.jar also has {sorted(names - classes - natives - others)}")
    require(pom in names and "META-INF/LICENSE" in names, "heed.jar lacks its pom or its licence")
    require("module-info.class" in classes, "heed.jar has no module descriptor")
    strangers = [name for name in classes if not re.fullmatch(r"module-info\.class|io/heed/[^/]+\.class", name)]
    require(not strangers, f"heed.jar has classes of other packages: {strangers}")
    missing = {name for name in documented if name.replace(".java", ".class") not in classes}
    require(not missing, f"heed.jar lacks the classes of {sorted(missing)}")
    newer = [name for name in classes if int.from_bytes(jar.read(name)[6:8], "big") > JAVA_11]
    require(not newer, f"these are not for Java 11: {newer}")
    require(jar.read(pom) == (folder / f"{stem}.pom").read_bytes(), "the pom in heed.jar is another")
    manifest = jar.read("META-INF/MANIFEST.MF").decode()
    for line in (f"Implementation-Version: {arguments.version}", f"Implementation-Vendor: {arguments.author}"):
        require(line in manifest.splitlines(), f"the manifest lacks '{line}'")

    platforms = {name.split("/")[3] for name in natives}
    require(len(platforms) == 1, f"heed.jar has libraries for {sorted(platforms)}")
    inside = f"io/heed/native/{platforms.pop()}/"
    libraries = ("libheed.so.0", "libheed_java.so")
    require(natives == {inside + name for name in (*libraries, "SHA256SUMS")}, f"heed.jar has {sorted(natives)}")
    for library in libraries:
        content = jar.read(inside + library)
        line = f"{hashlib.sha256(content).hexdigest()}  {library}"
        require(line in jar.read(inside + "SHA256SUMS").decode().splitlines(), f"{library} is not in the list")
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            readelf = [arguments.readelf, "--wide", "--dynamic", "--sections", file.name]
            text = subprocess.run(readelf, check=True, capture_output=True, text=True).stdout
            problems += needed_glibc.problems(arguments.page, arguments.readelf, file.name)
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", text))
        expected_path = ["$ORIGIN"] if library == "libheed_java.so" else []
        print(f"{library}: {len(content):,} bytes, needs {', '.join(sorted(needed))}")
        require(needed <= SYSTEM_LIBRARIES | {"libheed.so.0"}, f"{library} needs {sorted(needed)}")
        actual_path = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", text)
        require(actual_path == expected_path, f"{library} has the run path {actual_path}")
        require(not re.search(r"\s\.(symtab|debug_\w+)\s", text), f"{library} is not stripped")
    unpacked = sum(jar.getinfo(name).file_size for name in natives)
    problems += stated_size.problems(arguments.page, r"the libraries in the jar .* some ([0-9.]+) MB", unpacked)

# ---- sources and documentation --------------------------------------------------------------------------------------
with zipfile.ZipFile(folder / f"{stem}-sources.jar") as jar:
    missing = sources - names_in(jar)
    require(not missing, f"the sources lack {sorted(missing)}")
    tops = {name.split("$")[0].replace(".class", "") for name in classes}
    missing = {f"{name}.java" for name in tops} - names_in(jar)
    require(not missing, f"the sources lack {sorted(missing)}, whose classes are in heed.jar")
with zipfile.ZipFile(folder / f"{stem}-javadoc.jar") as jar:
    texts = {name: paths[name].read_text() for name in documented}
    public = {name for name in documented if re.search(r"^public ", texts[name], re.MULTILINE)}
    pages = {name for name in names_in(jar) if re.fullmatch(r"io\.heed/io/heed/[A-Z]\w*\.html", name)}
    expected = {f"io.heed/{name}".replace(".java", ".html") for name in public}
    require(pages == expected, f"the documentation has pages for {sorted(pages)}, expected {sorted(expected)}")

    # javadoc turns links to classes that are not public into plain text without a warning, also links to members that a
    # class inherits from one that is not public.
    hidden = {name.rpartition("/")[2] for name in tops} - {name.rpartition("/")[2][:-5] for name in pages}
    all_pages = {name: jar.read(name).decode() for name in names_in(jar) if name.endswith(".html")}
    anchors = {name: {html.unescape(one) for one in re.findall(r'\bid="([^"]*)"', text)} for name, text in all_pages.items()}
    for name, text in all_pages.items():
        for code in re.findall(r"<code>(.*?)</code>", text, re.DOTALL):
            named = hidden & set(re.findall(r"\w+", re.sub(r"<[^>]*>", "", html.unescape(code))))
            require(not named, f"{name} of the documentation names {sorted(named)}, which has no page: {code!r}")
        for link in re.findall(r'href="([^"]*)"', text):
            path, _, anchor = urllib.parse.unquote(html.unescape(link)).partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            known = target in names_in(jar) and (not anchor or target not in anchors or anchor in anchors[target])
            require(known or "://" in link, f"{name} of the documentation has a link that leads nowhere: {link}")

# ---- the pom --------------------------------------------------------------------------------------------------------
root = ElementTree.parse(folder / f"{stem}.pom").getroot()


def said(path):
    return root.findtext("/".join(f"m:{step}" for step in path.split("/")), namespaces=MAVEN)


expected = {
    "groupId": arguments.group,
    "artifactId": arguments.artifact,
    "version": arguments.version,
    "description": arguments.description,
    "url": arguments.url or None,
    "licenses/license/name": arguments.license,
    "developers/developer/name": arguments.author,
    "developers/developer/url": arguments.url or None,
    "scm/url": arguments.url or None,
    "scm/connection": f"scm:git:{arguments.url}.git" if arguments.url else None,
}
for path, text in expected.items():
    require(said(path) == text, f"{path} of the pom is {said(path)!r}, expected {text!r}")
# Maven Central requires these fields. It also requires an address, which is only there if the project has one.
require(said("name"), "the pom has no name")
require(bool(arguments.url) == (root.find("m:scm", MAVEN) is not None), "scm is there without an address, or not with one")

if problems:
    raise SystemExit("\n".join(problems))
