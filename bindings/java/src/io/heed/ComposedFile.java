// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/** The parameters of a composed block as a .safetensors file, by the names of {@link Block#getParameters}. */
final class ComposedFile {
    private final Path path;
    private final NDManager manager;
    /** The names in the file that are no parameter of the block's so far. */
    private final Set<String> rest;

    private final Deque<ParameterFile.Staged> staged = new ArrayDeque<>();

    private ComposedFile(Path path, NDManager manager, Weights weights) {
        this.path = path;
        this.manager = manager;
        rest = new LinkedHashSet<>(weights.getNames());
    }

    /** Writes to another file, which then takes the place of an existing one. */
    static void save(AbstractBlock block, Path path) {
        NativeText.of(path);
        SafetensorsWriter writer = new SafetensorsWriter();
        block.getParameters().forEach(each -> writer.add(each.getKey(), each.getValue()));
        try {
            Path written = newFileBeside(path);
            try {
                // A channel would be closed if this thread is interrupted.
                try (FileOutputStream stream = new FileOutputStream(written.toFile())) {
                    writer.write(stream::write);
                    stream.getFD().sync();
                }
                Files.move(written, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                Files.deleteIfExists(written);
            }
        } catch (IOException error) {
            throw new HeedException(Status.IO, "cannot write \"" + path + "\": " + error);
        }
    }

    /** Makes an empty file with the permissions that any new file has, unlike those of Files.createTempFile. */
    private static Path newFileBeside(Path path) throws IOException {
        for (;;) {
            String name = ".heed" + Long.toUnsignedString(ThreadLocalRandom.current().nextLong()) + ".safetensors";
            try {
                return Files.createFile(path.toAbsolutePath().resolveSibling(name));
            } catch (FileAlreadyExistsException taken) {
                // The next name is another.
            }
        }
    }

    static void load(AbstractBlock block, NDManager manager, Path path) {
        manager.openContext();
        StoppedCalls.check();
        ComposedFile file;
        try (Weights weights = Weights.open(path)) {
            file = new ComposedFile(path, manager, weights);
        }
        try {
            file.stage(block, "");
            if (!file.rest.isEmpty()) {
                throw new IllegalArgumentException("\"" + path + "\" has \"" + file.rest.iterator().next()
                        + "\", which is no parameter of the block: expected the file of a block like this one");
            }
            StoppedCalls.check();
            while (!file.staged.isEmpty()) {
                file.staged.remove().commit();
            }
        } catch (IOException | MalformedModelException error) {
            throw new IllegalArgumentException("\"" + path + "\": " + error.getMessage(), error);
        } finally {
            file.staged.forEach(ParameterFile.Staged::discard);
        }
    }

    /** Reads and checks the parameters of a block whose names in the file begin with this. */
    private void stage(Block block, String beginning) throws IOException, MalformedModelException {
        if (block instanceof NativeBlock) {
            stage((NativeBlock) block, beginning);
        } else if (block instanceof AbstractBlock) {
            for (Pair<String, Parameter> each : block.getDirectParameters()) {
                staged.add(ParameterFile.stage(each.getValue(), read(manager, beginning + each.getKey())));
            }
            for (Pair<String, Block> child : block.getChildren()) {
                stage(child.getValue(), beginning + child.getKey() + "_");
            }
        } else {
            throw new UnsupportedOperationException("\"" + beginning + "\" is a " + block.getClass().getSimpleName()
                    + ", expected one of heed's own blocks or an AbstractBlock: its parameters cannot be read one by one");
        }
    }

    private void stage(NativeBlock block, String beginning) throws IOException {
        ParameterList parameters = block.getDirectParameters();
        if (parameters.isEmpty()) {
            return;
        }
        SafetensorsWriter writer = new SafetensorsWriter();
        try (NDManager reading = manager.newSubManager()) {
            parameters.keys().forEach(name -> writer.add(name, read(reading, beginning + name)));
            try (NativeBytes bytes = new NativeBytes(writer.numBytes())) {
                writer.write(piece -> {
                    StoppedCalls.check();
                    bytes.append(piece);
                });
                staged.add(block.stage(manager, block.savedShapes(), bytes.begin(), bytes.length()));
            }
        }
    }

    private NDArray read(NDManager owner, String name) {
        StoppedCalls.check();
        if (!rest.remove(name)) {
            throw new HeedException(
                    Status.NOT_FOUND, "\"" + path + "\" has no array \"" + name + "\", a parameter of the block");
        }
        return owner.load(path, name);
    }
}
