// SPDX-License-Identifier: Apache-2.0
using Heed;

/// <summary>An encoder, and a decoder that reads its output: of ids to read (B, S), their lengths (B) and the ids to continue
/// (B, T), the logits of the ids that follow (B, T, tokens).</summary>
internal sealed class EncoderDecoder : AbstractBlock
{
    private readonly Block encoder;
    private readonly Block decoder;
    private readonly int numHiddens;

    /// <summary>Makes a block of both.</summary>
    /// <param name="encoder">Of ids and lengths it gives its output.</param>
    /// <param name="decoder">Of ids, the encoder's output and lengths it gives logits, and what else it has.</param>
    /// <param name="numHiddens">The size of a row of the encoder's output.</param>
    public EncoderDecoder(Block encoder, Block decoder, int numHiddens)
    {
        this.encoder = AddChildBlock("encoder", encoder);
        this.decoder = AddChildBlock("decoder", decoder);
        this.numHiddens = numHiddens;
    }

    protected override NDList ForwardInternal(
        ParameterStore ps, NDList inputs, bool training, PairList<string, object>? parameters)
    {
        NDArray memory = encoder.Forward(ps, new NDList(inputs[0], inputs[1]), training).Head;
        return new NDList(decoder.Forward(ps, new NDList(inputs[2], memory, inputs[1]), training).Head);
    }

    protected override void InitializeChildBlocks(NDManager manager, DataType dataType, params Shape?[] inputShapes)
    {
        encoder.Initialize(manager, dataType, inputShapes[0], inputShapes[1]);
        Shape memory = inputShapes[0]!.Add(numHiddens);
        decoder.Initialize(manager, dataType, inputShapes[2], memory, inputShapes[1]);
    }
}
