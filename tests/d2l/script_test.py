# SPDX-License-Identifier: Apache-2.0
"""script_test.py SCRIPT: runs scripts/d2l on small notebooks written here, and checks what it reports: cells that run, plots, cells that
train, a cell that fails, integers that are divided, notebooks that are missing, no folder."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from notebooks import swap

NAMES = ["attention-cues", "nadaraya-watson", "attention-scoring-functions", "multihead-attention", "self-attention-and-positional-encoding"]
# Loaded by a notebook, as d2l-java's are.
DOUBLER = """import ai.djl.ndarray.NDArray;
public class Doubler {
    public static NDArray twice(NDArray x) { return x.add(x); }
}
"""
CUES = [
    "%load ../utils/djl-imports\n%load ../utils/plot-utils\n%load ../utils/Functions.java\n%load ../utils/attention/Doubler.java",
    "NDManager manager = NDManager.newBaseManager();",
    "Doubler.twice(manager.ones(new Shape(3))).sum().getFloat()",
    "double[] points = Functions.floatToDoubleArray(manager.arange(3f).toFloatArray());\n"
    "new Figure(Layout.builder().build(), ScatterTrace.builder(points, points).build())",
    "manager.arange(0, 4, 2).div(4).toFloatArray()[1]",
    "manager.ones(new Shape(3)).add(manager.ones(new Shape(4)))",
    "manager.noSuchMember()",
]
# A block with a parameter of its own, which is trained by the calls that d2l-java has.
REGRESSION = [
    "%load ../utils/djl-imports\n%load ../utils/Animator.java\nimport ai.djl.training.loss.Loss;",
    "NDManager manager = NDManager.newBaseManager();\nNDArray x = manager.create(new float[] {1, 2, 3});",
    """public class Net extends AbstractBlock {
        private Parameter w = Parameter.builder().setName("w").optShape(new Shape(1)).optInitializer(new ConstantInitializer(1)).build();
        public Net() { addParameter(w); }
        protected NDList forwardInternal(ParameterStore ps, NDList inputs, boolean training, PairList<String, Object> params) {
            return new NDList(inputs.head().mul(w.getArray()));
        }
        public Shape[] getOutputShapes(Shape[] inputShapes) { return inputShapes; }
    }""",
    """Net net = new Net();
    Loss loss = Loss.l2Loss();
    Tracker rate = Tracker.fixed(0.0625f);
    Optimizer sgd = Optimizer.sgd().setLearningRateTracker(rate).build();
    DefaultTrainingConfig config = new DefaultTrainingConfig(loss).optOptimizer(sgd).addTrainingListeners(TrainingListener.Defaults.logging());
    Model model = Model.newInstance("");
    model.setBlock(net);
    Trainer trainer = model.newTrainer(config);
    Animator animator = new Animator();
    ParameterStore ps = new ParameterStore(manager, false);
    for (int epoch = 0; epoch < 3; epoch++) {
        try (GradientCollector collector = trainer.newGradientCollector()) {
            NDArray result = net.forward(ps, new NDList(x), true).get(0);
            NDArray l = trainer.getLoss().evaluate(new NDList(x.mul(2)), new NDList(result));
            collector.backward(l);
            animator.add(epoch + 1, (float) l.getFloat(), "Loss");
            animator.show();
        }
        trainer.step();
    }""",
    "animator",
    "net.getParameters().valueAt(0).getArray().getFloat(0) > 1.6f",
]


def write(notebook: Path, cells: list[str]) -> None:
    code = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    notebook.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": ["text"]}, *code]}))


def report(script: str, *arguments: str) -> tuple[int, str, str]:
    environment = {name: value for name, value in os.environ.items() if name != "HEED_D2L"}
    done = subprocess.run([script, *arguments], env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def check_changes() -> None:
    notes: list[str] = []
    changed = swap("manager.arange(0, n, 2).div(n).sum()", set(), notes)
    assert changed == "manager.arange(0, n, 2).toType(DataType.FLOAT32, false).div(n).sum()", changed
    assert notes == ["integers that are divided are made FLOAT32 first"], notes
    assert swap("import ai.djl.nn.Block;\nimport ai.djl.Nothing;", {"Block"}, notes) == "import io.heed.Block;\n"


def main(script: str) -> None:
    check_changes()
    status, said, _ = report(script)
    assert status == 0 and said.startswith("skipped: no folder with the notebooks"), said

    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        (root / "chapter").mkdir()
        status, _, errors = report(script, str(root / "chapter"))
        assert status == 1 and all(f"{name}.ipynb" in errors for name in NAMES), errors

        (root / "utils/attention").mkdir(parents=True)
        (root / "utils/attention/Doubler.java").write_text(DOUBLER)
        for name in NAMES:
            write(root / f"chapter/{name}.ipynb", {"attention-cues": CUES, "nadaraya-watson": REGRESSION}.get(name, []))
        status, said, errors = report(script, str(root / "chapter"))
    assert status == 1 and errors == "", errors
    lines = said.splitlines()
    expected = [
        "attention-cues",
        "  cell  1  ran",
        "  cell  2  ran NDManager cpu()",
        "  cell  3  ran 6.0",
        "  cell  4  ran a figure of 3 points",
        "  cell  5  ran 0.5; integers that are divided are made FLOAT32 first",
        "  cell  6  failed java.lang.IllegalArgumentException: ",
        "  cell  7  failed cannot find symbol",
        "nadaraya-watson",
        "  cell  1  ran",
        "  cell  2  ran NDArray (3) float32",
        "  cell  3  ran",
        "  cell  4  ran",
        "  cell  5  ran a plot of 2.33",
        "  cell  6  ran true",
        "attention-scoring-functions",
        "multihead-attention",
        "self-attention-and-positional-encoding",
        "11 cells ran, 2 failed",
    ]
    for line, begin in zip(lines, expected, strict=True):
        assert line.startswith(begin), f"{line!r} does not begin with {begin!r}"


if __name__ == "__main__":
    main(sys.argv[1])
