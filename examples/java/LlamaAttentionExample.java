// SPDX-License-Identifier: Apache-2.0
import io.heed.AttentionInputs;
import io.heed.AttentionOutputs;
import io.heed.Causal;
import io.heed.MultiHeadAttention;
import io.heed.NDManager;
import io.heed.Rope;
import io.heed.RopeLayout;

import java.nio.file.Path;

/**
 * The attention of a Llama out of its file in Hugging Face's form: four heads that share the keys of two, rotary
 * positions, each token attends to itself and those before it. Compares with expected numbers.
 *
 * <pre>
 * run llama_attention examples/llama_attention/model.safetensors examples/llama_attention/tokens.safetensors
 * </pre>
 *
 * <p>The options are those of the config.json beside the model; examples/llama_attention/make_model.py made all three.
 */
public class LlamaAttentionExample {
    public static void main(String[] args) {
        if (args.length != 2) {
            System.err.println("usage: llama_attention MODEL.safetensors TOKENS.safetensors");
            System.exit(2);
        }
        System.exit(run(Path.of(args[0]), Path.of(args[1])) ? 0 : 1);
    }

    /** Returns whether the result is within the file's bound. */
    private static boolean run(Path model, Path tokens) {
        Rope rope = Rope.builder()
                .setLayout(RopeLayout.HALF) // Hugging Face's files; Meta's own are INTERLEAVED.
                .optBase(500000) // rope_theta
                .build();
        MultiHeadAttention.Builder options = MultiHeadAttention.builder()
                .setNumHiddens(32) // hidden_size
                .setNumHeads(4) // num_attention_heads
                .optNumKvHeads(2) // num_key_value_heads
                .optCausal(Causal.BOTTOM_RIGHT)
                .optRope(rope);
        try (NDManager manager = NDManager.newBaseManager();
                MultiHeadAttention attention = options.build()) {
            // Refused if the options are not those of the config.json.
            attention.load(model, "model.layers.0.self_attn");

            // Keys and values are those of the queries.
            AttentionInputs inputs = new AttentionInputs().setQueries(manager.load(tokens, "hidden_states"));
            AttentionOutputs outputs = attention.createOutputs(inputs);
            attention.forward(inputs, outputs, null);
            return Comparison.withFile(outputs.getOutput(), tokens);
        }
    }
}
