// SPDX-License-Identifier: Apache-2.0
namespace Heed;

/// <content>How the children are made of the options of this block.</content>
public sealed partial class Transformer
{
    private protected override NativeBlock MakeChild(string name, ChildPath at) => name switch
    {
        "encoder" => new TransformerEncoder(options.Encoder!, at),
        "decoder" => new TransformerDecoder(options.Decoder!, at),
        "output" => options.Output!.MakeChild(options.Embedding, at),
        _ => new Embedding(options.Embedding!.WithRows(options.Decoder!.FirstLayer!.SelfAttention!.NumHiddens), at),
    };
}
