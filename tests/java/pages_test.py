# SPDX-License-Identifier: Apache-2.0
"""pages_test.py --frame FILE --folder FOLDER --jar HEED_JAR --javac JAVAC --java JAVA PAGE...

Compiles the blocks of Java in Markdown pages. One that a block of text follows is a program: it is run, and prints that text. Any
other is put into the frame, which has what a fragment takes for granted: @NAME@ becomes its class, @IMPORTS@ its imports, @BODY@
the rest.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "bindings"))
from extract_blocks import blocks


def framed(frame, name, text):
    """The class of a fragment."""
    is_import = re.compile(r"import .*;\n")
    lines = text.splitlines(keepends=True)
    imports = "".join(line for line in lines if is_import.fullmatch(line))
    body = "".join(line for line in lines if not is_import.fullmatch(line))
    return frame.replace("@NAME@", name).replace("@IMPORTS@", imports).replace("@BODY@", body)


def main():
    parser = argparse.ArgumentParser()
    for name in ("frame", "folder", "jar", "javac", "java"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("pages", nargs="+", type=Path)
    arguments = parser.parse_args()

    shutil.rmtree(arguments.folder, ignore_errors=True)
    arguments.folder.mkdir(parents=True)
    frame = arguments.frame.read_text(encoding="utf-8")
    files, outputs = [], {}
    for page in arguments.pages:
        for block in blocks(page, "java"):
            # The compiler's messages then tell the place in the page.
            name, text = f"{page.stem.capitalize()}Line{block.line}", block.text
            if block.output is None:
                text = framed(frame, name, text)
            else:
                name = re.search(r"\bclass (\w+)", text)[1]
                outputs[name] = block.output
            files.append(arguments.folder / f"{name}.java")
            files[-1].write_text(text, encoding="utf-8")

    classes = arguments.folder / "classes"
    javac = [arguments.javac, "--release", "11", "-encoding", "UTF-8", "-Xlint:all", "-Werror"]
    subprocess.run([*javac, "-cp", arguments.jar, "-d", classes, *files], check=True)
    for name, expected in outputs.items():
        command = [arguments.java, "-cp", f"{arguments.jar}:{classes}", name]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        if printed != expected:
            sys.exit(f"{name} printed\n{printed}expected\n{expected}")
    if not outputs:
        sys.exit("no page has a program")
    print(f"{len(files)} blocks compile; {len(outputs)} of them are programs and print what the pages say")


if __name__ == "__main__":
    main()
