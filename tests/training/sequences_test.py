# SPDX-License-Identifier: Apache-2.0
"""sequences_test.py TASK C_PROGRAM -- PROGRAM [ARGUMENT...]: compares the losses of train_sequences in Java or C# with those of the program
in C, bit by bit:

- of all steps, and in the picture of them
- of 20 steps, of which the program takes 10, saves its state, and takes 10 more with it
- of all steps, when Ctrl+C stops the program, at a step that is different in each run, and it goes on"""

import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def expect(losses: list[str], file: Path, what: str) -> None:
    written = file.read_text().split()
    first = next((i for i, pair in enumerate(zip(losses, written)) if pair[0] != pair[1]), min(len(losses), len(written)))
    assert written == losses, f"{what}: {len(written)} losses, expected {len(losses)}; the first other one is that of step {first + 1}"


def stop(command: list[str], step: int) -> str:
    """Presses Ctrl+C after a step. Returns what the program says."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as program:
        assert program.stdout is not None and program.stderr is not None
        progress = b""
        while f"step {step} of".encode() not in progress:
            more = os.read(program.stderr.fileno(), 4096)
            assert more, f"no step {step}: {progress!r}"
            progress += more
        os.killpg(program.pid, signal.SIGINT)
        said, _ = program.communicate()
    return said.decode()


def main(task: str, c_program: str, program: list[str]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        losses, picture = folder / "losses.txt", folder / "picture.svg"
        run([c_program, task, str(picture), "1", str(losses)])
        expected = losses.read_text().split()

        command = [*program, task, str(picture), "--losses", str(losses)]
        result = run(command)
        said = rf"{task}, {len(expected)} steps: the loss falls from 2\.5\d\d to 0\.00\d, [0-9.]+ % of 1000 new sequences are right\n"
        assert re.fullmatch(said, result), result
        expect(expected, losses, "all steps")
        numbers = re.search(r"<metadata>(.*)</metadata>", picture.read_text())
        assert numbers is not None
        bits = [struct.pack(">f", float(number)).hex() for number in numbers[1].split()]
        assert bits == expected, "the picture has other losses"

        state = ["--state", str(folder / "state")]
        run([*program, task, "--steps", "10", *state])
        run([*program, task, "--steps", "20", "--losses", str(losses), *state])
        expect(expected[:20], losses, "10 steps, and 10 with the state of the first")

        losses.unlink()
        state = ["--state", str(folder / "stopped")]
        said = stop([*command, *state], 30)
        stopped = re.search(rf"stopped after (\d+) of {len(expected)} steps\n$", said)
        assert stopped is not None and 30 <= int(stopped[1]) < len(expected), said
        run([*command, *state])
        expect(expected, losses, f"stopped after {stopped[1]} steps and gone on")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[4:])
