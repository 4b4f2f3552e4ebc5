// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.function.Supplier;

/** The .safetensors file of a block in the folder of a model. */
final class BlockFile {
    private BlockFile() {}

    static void save(Block block, Path folder, String name) {
        Path file = of(folder, name);
        try {
            Files.createDirectories(folder);
        } catch (IOException error) {
            throw new HeedException(Status.IO, "cannot make the folder \"" + folder + "\": " + error);
        }
        if (block instanceof NativeBlock) {
            ((NativeBlock) block).save(file);
        } else {
            composed(block).save(file);
        }
    }

    /** The manager is asked for if it becomes the owner of the parameters. */
    static void load(Block block, Path folder, String name, Supplier<NDManager> manager) {
        Path file = of(folder, name);
        if (block instanceof NativeBlock) {
            ((NativeBlock) block).load(file);
        } else {
            composed(block).load(manager.get(), file);
        }
    }

    private static Path of(Path folder, String name) {
        Objects.requireNonNull(folder, "folder");
        return folder.resolve(Objects.requireNonNull(name, "name") + ".safetensors");
    }

    private static AbstractBlock composed(Block block) {
        if (block instanceof AbstractBlock) {
            return (AbstractBlock) block;
        }
        throw new UnsupportedOperationException("the block is a " + block.getClass().getSimpleName()
                + ", expected one of heed's own blocks or an AbstractBlock: it has no parameters by name");
    }
}
