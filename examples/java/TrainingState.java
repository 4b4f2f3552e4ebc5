// SPDX-License-Identifier: Apache-2.0
import io.heed.Model;
import io.heed.Trainer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * What a training needs to go on with the same bits, in a folder: the model's parameters, what the optimizer knows of
 * earlier steps, and the losses, of which there is one for each step.
 */
final class TrainingState {
    private final Path folder;
    private final Path optimizer;
    /** Written last: without it the folder has no state. */
    private final Path losses;

    TrainingState(Path folder) {
        this.folder = folder;
        optimizer = folder.resolve("optimizer.safetensors");
        losses = folder.resolve("losses.txt");
    }

    /** Whether there is something to go on with. */
    boolean exists() {
        return Files.exists(losses);
    }

    void save(Model model, Trainer trainer, List<Float> losses) throws IOException {
        Files.createDirectories(folder);
        Files.deleteIfExists(this.losses);
        model.save(folder, model.getName());
        trainer.saveOptimizer(optimizer);
        writeLosses(this.losses, losses);
    }

    /** Loads the parameters. A trainer is made of the model afterwards. */
    void loadModel(Model model) throws IOException {
        model.load(folder, model.getName());
    }

    void loadOptimizer(Trainer trainer) throws IOException {
        trainer.loadOptimizer(optimizer);
    }

    /** The losses of the steps so far. */
    List<Float> readLosses() throws IOException {
        return Files.readAllLines(losses).stream()
                .map(bits -> Float.intBitsToFloat(Integer.parseUnsignedInt(bits, 16)))
                .collect(Collectors.toList());
    }

    /** Writes the bits of each loss, in hexadecimal, one on each line. */
    static void writeLosses(Path file, List<Float> losses) throws IOException {
        List<String> lines = new ArrayList<>();
        for (float loss : losses) {
            lines.add(String.format("%08x", Float.floatToIntBits(loss)));
        }
        Files.write(file, lines);
    }
}
