// SPDX-License-Identifier: Apache-2.0
import io.heed.AttentionInputs;
import io.heed.Model;
import io.heed.ModelBlock;
import io.heed.NDArray;
import io.heed.NDManager;

import java.nio.file.Path;
import java.util.Locale;

/**
 * A whole BERT from its folder as Hugging Face's libraries write it: ids to hidden states, compared with PyTorch's.
 *
 * <pre>
 * run bert tests/golden/data/models/bert tests/golden/data/models/bert/cases.safetensors
 * </pre>
 *
 * <p>The folder has config.json and model.safetensors. The second file has the ids of two texts of different lengths, as
 * a tokenizer gives them (input_ids, token_type_ids, attention_mask), and the hidden states that PyTorch computed.
 */
public class BertExample {
    public static void main(String[] args) {
        if (args.length != 2) {
            System.err.println("usage: bert FOLDER CASES.safetensors");
            System.exit(2);
        }
        System.exit(run(Path.of(args[0]), Path.of(args[1])) ? 0 : 1);
    }

    /** Returns whether the hidden states are those of PyTorch. */
    private static boolean run(Path folder, Path cases) {
        try (NDManager manager = NDManager.newBaseManager();
                Model model = Model.newInstance("bert")) {
            model.load(folder);

            NDArray ids = manager.load(cases, "input_ids");
            NDArray tokenTypes = manager.load(cases, "token_type_ids");
            NDArray mask = manager.load(cases, "attention_mask");
            AttentionInputs inputs = new AttentionInputs()
                    .setQueries(ids)
                    .setAttentionMask(mask) // Padding is hidden.
                    .setTokenTypes(tokenTypes);
            ModelBlock block = model.getBlock();
            NDArray states = block.forward(inputs);
            System.out.println(states.getShape());

            double difference = largestDifference(states, manager.load(cases, "last_hidden_state"), mask);
            System.out.printf(Locale.ROOT, "hidden states of PyTorch: largest difference %.2g%n", difference);
            return difference < 1e-4;
        }
    }

    /** The largest difference in the rows of tokens, for which the mask has ones; rows of padding have no meaning. */
    private static double largestDifference(NDArray is, NDArray expected, NDArray mask) {
        float[] a = is.toFloatArray();
        float[] b = expected.toFloatArray();
        long[] isToken = mask.toLongArray();
        int width = (int) is.getShape().get(2);
        double largest = 0;
        for (int i = 0; i < a.length; i++) {
            if (isToken[i / width] != 0) {
                largest = Math.max(largest, Math.abs((double) a[i] - b[i])); // NaN stays.
            }
        }
        return largest;
    }
}
