// SPDX-License-Identifier: Apache-2.0
// Runs a torch.nn.MultiheadAttention(12, 3, batch_first=True) in heed, and compares with what PyTorch gave.
//
//   run load_pytorch FILE
//
// The file comes from Python, and holds the module's parameters under PyTorch's own names:
//
//   tensors = attention.state_dict()
//   tensors |= {"queries": queries, "keys": keys, "values": values, "valid_lens": valid_lens,
//               "output": output, "bound": how far each number of the output may be from heed's}
//   safetensors.torch.save_file(tensors, "attention.safetensors")
//
// docs/weights.md has the other frameworks that heed knows.
using System;
using Heed;

internal static class LoadPytorchExample
{
    internal static int Main(string[] args)
    {
        if (args is not [var file])
        {
            Console.Error.WriteLine("usage: load_pytorch FILE.safetensors");
            return 2;
        }
        using NDManager manager = NDManager.NewBaseManager();
        using MultiHeadAttention attention = new MultiHeadAttention(new MultiHeadAttentionOptions
        {
            NumHiddens = 12,
            NumHeads = 3,
            Biases = Bias.All, // PyTorch's default.
        });

        // Out of a whole model's file: attention.Load(file, "encoder.layers.0.self_attn").
        attention.Load(file);
        NDList input = new NDList(
            manager.Load(file, "queries"),
            manager.Load(file, "keys"),
            manager.Load(file, "values"),
            manager.Load(file, "valid_lens")); // PyTorch's key_padding_mask is True from here on.
        NDArray result = attention.Forward(new ParameterStore(manager, false), input).SingletonOrThrow();
        return Comparison.WithFile(result, file) ? 0 : 1;
    }
}
