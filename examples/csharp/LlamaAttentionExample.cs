// SPDX-License-Identifier: Apache-2.0
// The attention of a Llama out of its file in Hugging Face's form: four heads that share the keys of two, rotary
// positions, each token attends to itself and those before it. Compares with expected numbers.
//
//   run llama_attention examples/llama_attention/model.safetensors examples/llama_attention/tokens.safetensors
//
// The options are those of the config.json beside the model; examples/llama_attention/make_model.py made all three.
using System;
using Heed;

internal static class LlamaAttentionExample
{
    internal static int Main(string[] args)
    {
        if (args is not [var model, var tokens])
        {
            Console.Error.WriteLine("usage: llama_attention MODEL.safetensors TOKENS.safetensors");
            return 2;
        }
        using NDManager manager = NDManager.NewBaseManager();
        using MultiHeadAttention attention = new MultiHeadAttention(new MultiHeadAttentionOptions
        {
            NumHiddens = 32, // hidden_size
            NumHeads = 4, // num_attention_heads
            NumKvHeads = 2, // num_key_value_heads
            Causal = Causal.BottomRight,
            Rope = new RopeOptions
            {
                Layout = RopeLayout.Half, // Hugging Face's files; Meta's own are Interleaved.
                Base = 500000, // rope_theta
            },
        });
        // Refused if the options are not those of the config.json.
        attention.Load(model, "model.layers.0.self_attn");

        // Keys and values are those of the queries.
        AttentionInputs inputs = new AttentionInputs(manager.Load(tokens, "hidden_states"));
        AttentionOutputs outputs = attention.CreateOutputs(inputs);
        attention.Forward(inputs, outputs);
        return Comparison.WithFile(outputs.Output!, tokens) ? 0 : 1;
    }
}
