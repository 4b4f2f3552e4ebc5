// SPDX-License-Identifier: Apache-2.0
import io.heed.AttentionInputs;
import io.heed.AttentionOutputs;
import io.heed.HeedException;
import io.heed.MultiHeadAttention;
import io.heed.NDArray;
import io.heed.NDManager;
import io.heed.Status;
import io.heed.Wanted;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Writes a page with each head's attention weights, for the first element of a batch. The arguments and the JSON are in
 * examples/head_view/README.md.
 */
public class HeadViewExample {
    public static void main(String[] args) throws IOException {
        if (args.length < 4 || args.length > 6) {
            System.err.println("usage: head_view TEMPLATE PAGE FILE.safetensors NUM_HEADS [QUERY_TOKENS [KEY_TOKENS]]");
            System.exit(2);
        }
        try (NDManager manager = NDManager.newBaseManager()) {
            NDArray weights = attend(manager, Path.of(args[2]), Integer.parseInt(args[3])).get(0);
            List<String> queries = args.length > 4 ? Files.readAllLines(Path.of(args[4])) : null;
            List<String> keys = args.length > 5 ? Files.readAllLines(Path.of(args[5])) : null;
            HeadPage.write(Path.of(args[0]), Path.of(args[1]), args[2], queries, keys, weights);
        }
    }

    /** The attention weights (B, H, Q, K). */
    private static NDArray attend(NDManager manager, Path file, int numHeads) {
        NDArray queries = manager.load(file, "queries");
        AttentionInputs inputs = new AttentionInputs()
                .setQueries(queries)
                .setKeys(loadIfThere(manager, file, "keys"))
                .setValues(loadIfThere(manager, file, "values"))
                .setValidLens(loadIfThere(manager, file, "valid_lens"))
                .setMask(loadIfThere(manager, file, "mask"));
        try (MultiHeadAttention attention =
                MultiHeadAttention.builder().setNumHiddens(queries.size(-1)).setNumHeads(numHeads).build()) {
            attention.load(file, "attention");
            AttentionOutputs outputs = attention.createOutputs(inputs, Wanted.WEIGHTS);
            attention.forward(inputs, outputs, null);
            return outputs.getWeights();
        }
    }

    private static NDArray loadIfThere(NDManager manager, Path file, String name) {
        try {
            return manager.load(file, name);
        } catch (HeedException error) {
            if (error.getStatus() == Status.NOT_FOUND) {
                return null;
            }
            throw error;
        }
    }
}
