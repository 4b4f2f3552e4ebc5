// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using Heed;

/// <summary>Begins the example that its first argument names. Each is a whole program by itself, too.</summary>
internal static class Program
{
    private static int Main(string[] args)
    {
        string[] rest = args[1..];
        try
        {
            return args[0] switch
            {
                "multi_head_attention" => MultiHeadAttentionExample.Main(rest),
                "bert" => BertExample.Main(rest),
                "define_attention" => DefineAttentionExample.Main(),
                "load_pytorch" => LoadPytorchExample.Main(rest),
                "llama_attention" => LlamaAttentionExample.Main(rest),
                "packed_encoder" => PackedEncoderExample.Main(),
                "beams_with_cache" => BeamsWithCacheExample.Main(),
                "transformer" => TransformerExample.Main(),
                "bahdanau" => BahdanauExample.Main(),
                "translation" => TranslationExample.Main(rest),
                "head_view" => HeadViewExample.Main(rest),
                "train_sequences" => TrainSequencesExample.Main(rest),
                "train_translation" => TrainTranslationExample.Main(rest),
                "train_bahdanau" => TrainBahdanauExample.Main(rest),
                "kernel_regression" => KernelRegressionExample.Main(rest),
                "server" => ServerExample.Main(),
                _ => throw new ArgumentException($"there is no example {args[0]}"),
            };
        }
        catch (Exception error) when (error is HeedException or ArgumentException or IOException)
        {
            // A file that is not there, or does not fit: the sentence says so.
            Console.Error.WriteLine(error.Message);
            return 1;
        }
    }
}
