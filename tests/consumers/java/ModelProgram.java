// SPDX-License-Identifier: Apache-2.0
import io.heed.*;

import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

/** A whole model with a logger, forward of arrays, and a composed block's file. */
public final class ModelProgram {
    private ModelProgram() {}

    public static void main(String[] args) throws Exception {
        List<String> warnings = new ArrayList<>();
        ContextOptions options = ContextOptions.builder()
                .optNumThreads(2)
                .optLogger((level, text) -> {
                    if (level == Level.WARNING && text.endsWith(" are not read")) {
                        warnings.add(text);
                    }
                })
                .build();
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), options);
                Model model = Model.newInstance("bert")) {
            model.load(Paths.get(args[0]), manager);
            NDArray ids = manager.ones(new Shape(1, 3), DataType.INT32);
            NDArray states = model.getBlock().forward(ids).singletonOrThrow();
            System.out.println(states.getShape() + ", " + warnings.size() + " warning, "
                    + (isSavedAndLoaded(manager, states) ? "the same" : "other") + " block");
        }
    }

    private static boolean isSavedAndLoaded(NDManager manager, NDArray x) throws Exception {
        Path file = Files.createTempFile("block", ".safetensors");
        try (SequentialBlock block = newBlock();
                SequentialBlock other = newBlock()) {
            block.initialize(manager, DataType.FLOAT32, x.getShape());
            block.save(file);
            other.load(manager, file);
            return block.forward(x).equals(other.forward(x));
        } finally {
            Files.delete(file);
        }
    }

    private static SequentialBlock newBlock() {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(8).build())
                .add(LayerNorm.builder().build());
    }
}
