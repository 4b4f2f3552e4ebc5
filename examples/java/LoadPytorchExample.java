// SPDX-License-Identifier: Apache-2.0
import io.heed.MultiHeadAttention;
import io.heed.NDArray;
import io.heed.NDList;
import io.heed.NDManager;
import io.heed.ParameterStore;

import java.nio.file.Path;

/**
 * Runs a torch.nn.MultiheadAttention(12, 3, batch_first=True) in heed, and compares with what PyTorch gave.
 *
 * <pre>
 * run load_pytorch FILE
 * </pre>
 *
 * <p>The file comes from Python, and holds the module's parameters under PyTorch's own names:
 *
 * <pre>
 * tensors = attention.state_dict()
 * tensors |= {"queries": queries, "keys": keys, "values": values, "valid_lens": valid_lens, "output": output}
 * safetensors.torch.save_file(tensors, "attention.safetensors")
 * </pre>
 *
 * <p>docs/weights.md has the other frameworks that heed knows.
 */
public class LoadPytorchExample {
    public static void main(String[] args) {
        if (args.length != 1) {
            System.err.println("usage: load_pytorch FILE.safetensors");
            System.exit(2);
        }
        System.exit(run(Path.of(args[0])) ? 0 : 1);
    }

    /** Returns whether the result is within the file's bound. */
    private static boolean run(Path file) {
        MultiHeadAttention.Builder options = MultiHeadAttention.builder()
                .setNumHiddens(12)
                .setNumHeads(3)
                .optBias(true); // PyTorch's default.
        try (NDManager manager = NDManager.newBaseManager();
                MultiHeadAttention attention = options.build()) {
            // Out of a whole model's file: attention.load(file, "encoder.layers.0.self_attn").
            attention.load(file);
            NDList input = new NDList(
                    manager.load(file, "queries"),
                    manager.load(file, "keys"),
                    manager.load(file, "values"),
                    manager.load(file, "valid_lens")); // PyTorch's key_padding_mask is True from here on.
            NDArray result = attention.forward(new ParameterStore(manager, false), input, false).singletonOrThrow();
            return Comparison.withFile(result, file);
        }
    }
}
