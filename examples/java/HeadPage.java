// SPDX-License-Identifier: Apache-2.0
import io.heed.NDArray;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** A page with each head's attention weights. The JSON is described in examples/head_view/README.md. */
final class HeadPage {
    private static final String PLACE = "@HEED_HEADS@";

    private HeadPage() {}

    /**
     * Writes a page.
     *
     * @param template examples/head_view/head_view.html
     * @param layer what is below the title
     * @param queries the names of the rows; null: numbers
     * @param keys the names of the columns; null: as the queries
     * @param weights (H, Q, K)
     */
    static void write(Path template, Path page, String layer, List<String> queries, List<String> keys, NDArray weights)
            throws IOException {
        String text = Files.readString(template);
        if (!text.contains(PLACE)) {
            throw new IOException("no place for the data, " + PLACE + ", in " + template);
        }
        String json = "{\"title\": \"Attention weights\", \"layer\": " + quoted(layer)
                + (queries != null ? ",\n\"queries\": " + quoted(queries) : "")
                + (keys != null ? ",\n\"keys\": " + quoted(keys) : "")
                + ",\n\"heads\": " + heads(weights) + "}";
        Files.writeString(page, text.replace(PLACE, json));
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

    private static String quoted(List<String> texts) {
        return texts.stream().map(HeadPage::quoted).collect(Collectors.toList()).toString();
    }

    /** A JSON string. Written like this, no text can end the script element that the JSON is in. */
    private static String quoted(String text) {
        return text.chars()
                .mapToObj(c -> c < 0x20 || "\"\\<".indexOf(c) >= 0 ? String.format("\\u%04x", c) : "" + (char) c)
                .collect(Collectors.joining("", "\"", "\""));
    }
}
