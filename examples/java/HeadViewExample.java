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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Writes a page with each head's attention weights, for the first element of a batch. The arguments and the JSON are in
 * examples/head_view/README.md.
 */
public class HeadViewExample {
    private static final String PLACE = "@HEED_HEADS@";

    public static void main(String[] args) throws IOException {
        if (args.length < 4 || args.length > 6) {
            System.err.println("usage: head_view TEMPLATE PAGE FILE.safetensors NUM_HEADS [QUERY_TOKENS [KEY_TOKENS]]");
            System.exit(2);
        }
        String template = Files.readString(Path.of(args[0]));
        if (!template.contains(PLACE)) {
            throw new IOException("no place for the data, " + PLACE + ", in " + args[0]);
        }
        String heads;
        try (NDManager manager = NDManager.newBaseManager()) {
            heads = heads(attend(manager, Path.of(args[2]), Integer.parseInt(args[3])).get(0));
        }
        String json = "{\"title\": \"Attention weights\", \"layer\": " + quoted(args[2])
                + (args.length > 4 ? ",\n\"queries\": " + tokens(Path.of(args[4])) : "")
                + (args.length > 5 ? ",\n\"keys\": " + tokens(Path.of(args[5])) : "")
                + ",\n\"heads\": " + heads + "}";
        Files.writeString(Path.of(args[1]), template.replace(PLACE, json));
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

    /** The weights (H, Q, K) as JSON, which has no NaN. */
    private static String heads(NDArray weights) {
        List<String> heads = new ArrayList<>();
        for (int head = 0; head < weights.size(0); head++) {
            List<String> rows = new ArrayList<>();
            for (int query = 0; query < weights.size(1); query++) {
                rows.add(Arrays.toString(weights.get(head, query).toFloatArray()).replace("NaN", "null"));
            }
            heads.add("\n{\"name\": \"head " + head + "\", \"weights\": [\n" + String.join(",\n", rows) + "]}");
        }
        return heads.toString();
    }

    /** The lines of a text file as JSON. */
    private static String tokens(Path file) throws IOException {
        return Files.readAllLines(file).stream().map(HeadViewExample::quoted).collect(Collectors.toList()).toString();
    }

    /** A JSON string. Written like this, no text can end the script element that the JSON is in. */
    private static String quoted(String text) {
        return text.chars()
                .mapToObj(c -> c < 0x20 || "\"\\<".indexOf(c) >= 0 ? String.format("\\u%04x", c) : "" + (char) c)
                .collect(Collectors.joining("", "\"", "\""));
    }
}
