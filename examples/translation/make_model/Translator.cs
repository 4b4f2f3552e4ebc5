// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using TorchSharp;
using TorchSharp.Modules;
using static TorchSharp.torch;

namespace MakeModel;

/// <summary>A Transformer as Marian's: torch's encoder and decoder layers with norms behind each part, one table of
/// embeddings for both languages and the output, positions of sines and cosines.</summary>
internal sealed class Translator : nn.Module
{
    internal const int Size = 64;
    internal const int NumHeads = 4;
    internal const int NumHiddens = 128;
    internal const int NumLayers = 2;
    internal const int MaxLength = 64;

    private readonly Embedding shared;
    private readonly ModuleList<TransformerEncoderLayer> encoder;
    private readonly ModuleList<TransformerDecoderLayer> decoder;
    private readonly Parameter bias;
    private readonly Dropout dropout;
    private readonly long pad;

    /// <summary>(MaxLength, 1, Size): first all sines, then all cosines of p / 10000^(2i / Size).</summary>
    private readonly Tensor positions;

    internal Translator(int numTokens, long pad)
        : base(nameof(Translator))
    {
        this.pad = pad;
        shared = nn.Embedding(numTokens, Size);
        nn.init.normal_(shared.weight!, 0, 1 / Math.Sqrt(Size));
        encoder = nn.ModuleList(
            Enumerable.Range(0, NumLayers).Select(_ => nn.TransformerEncoderLayer(Size, NumHeads, NumHiddens)).ToArray());
        decoder = nn.ModuleList(
            Enumerable.Range(0, NumLayers).Select(_ => nn.TransformerDecoderLayer(Size, NumHeads, NumHiddens)).ToArray());
        bias = new Parameter(zeros(1, numTokens));
        dropout = nn.Dropout(0.1);
        var table = new float[MaxLength, 1, Size];
        for (int p = 0; p < MaxLength; p++)
        {
            for (int i = 0; i < Size / 2; i++)
            {
                double angle = p / Math.Pow(10000, 2.0 * i / Size);
                table[p, 0, i] = (float)Math.Sin(angle);
                table[p, 0, Size / 2 + i] = (float)Math.Cos(angle);
            }
        }
        positions = tensor(table);
        RegisterComponents();
    }

    /// <summary>ids (B, S) to the encoder's output (S, B, Size).</summary>
    internal Tensor Encode(Tensor ids)
    {
        Tensor rows = Embed(ids);
        using Tensor padding = ids.eq(pad);
        foreach (TransformerEncoderLayer layer in encoder)
        {
            rows = layer.call(rows, null!, padding);
        }
        return rows;
    }

    /// <summary>The decoder's ids (B, T), the encoder's ids and output, to logits (B, T, V).</summary>
    internal Tensor Decode(Tensor ids, Tensor sourceIds, Tensor memory)
    {
        Tensor rows = Embed(ids);
        using Tensor padding = sourceIds.eq(pad);
        using Tensor future = full(ids.shape[1], ids.shape[1], double.NegativeInfinity, rows.dtype).triu(1);
        foreach (TransformerDecoderLayer layer in decoder)
        {
            rows = layer.call(rows, memory, future, null!, null!, padding);
        }
        return matmul(rows.transpose(0, 1), shared.weight!.t()) + bias;
    }

    /// <summary>The weights by Hugging Face's names. torch has the projections of queries, keys and values in one
    /// tensor.</summary>
    internal IEnumerable<(string Name, Tensor Weight)> HuggingFaceWeights()
    {
        yield return ("final_logits_bias", bias);
        yield return ("model.shared.weight", shared.weight!);
        foreach (var (name, weight) in named_parameters())
        {
            string[] parts = name.Split('.');
            if (parts[0] is not ("encoder" or "decoder"))
            {
                continue;
            }
            string module = string.Join('.', parts[2..^1]);
            string kind = parts[^1];
            string layer = $"model.{parts[0]}.layers.{parts[1]}.";
            string attention = module.StartsWith("multihead_attn") ? "encoder_attn" : "self_attn";
            if (kind is "in_proj_weight" or "in_proj_bias")
            {
                Tensor[] three = weight.chunk(3);
                foreach (var (letter, part) in "qkv".Zip(three))
                {
                    yield return ($"{layer}{attention}.{letter}_proj.{kind["in_proj_".Length..]}", part);
                }
                continue;
            }
            yield return (layer + (parts[0], module) switch
            {
                (_, "self_attn.out_proj" or "multihead_attn.out_proj") => $"{attention}.out_proj",
                (_, "linear1") => "fc1",
                (_, "linear2") => "fc2",
                (_, "norm1") => "self_attn_layer_norm",
                ("decoder", "norm2") => "encoder_attn_layer_norm",
                ("encoder", "norm2") or ("decoder", "norm3") => "final_layer_norm",
                _ => throw new InvalidOperationException($"torch has a parameter {name}"),
            } + "." + kind, weight);
        }
    }

    private Tensor Embed(Tensor ids)
    {
        Tensor rows = shared.call(ids).transpose(0, 1) * Math.Sqrt(Size);
        return dropout.call(rows + positions[..(int)ids.shape[1]].to(rows.dtype));
    }
}
