// SPDX-License-Identifier: Apache-2.0
using System;

namespace Heed;

/// <summary>The block of a <see cref="Model"/>: an encoder, a decoder or a Transformer, with the options and the
/// parameters of a folder. Its Forward takes
/// <code>
/// encoder       ids (B, S), validLens (B), tokenTypes (B, S)
/// decoder       ids (B, T), selfValidLens (B)
/// Transformer   the decoder's ids (B, T), the encoder's ids (B, S), validLens (B) of the latter
/// </code>
/// where vit has images (B, channels, height, width) in place of ids, and whisper features (B, mels, frames) in place of
/// those of the encoder. Ids and token types are Int32 or Int64, lengths Float32, Int32 or Int64; lengths and token types
/// may be missing or null. It gives one array of the type of the embedding's table: of an encoder the hidden states (B, S, E),
/// of a decoder and a Transformer the logits (B, T, number of embeddings), or the hidden states (B, T, E) if the
/// architectures in config.json name no head.</summary>
/// <remarks><see cref="AttentionInputs"/> are those of a <see cref="TransformerEncoder"/>, a
/// <see cref="TransformerDecoder"/> or a <see cref="Transformer"/>; <see cref="KvCacheOptions(NativeBlock)"/> has the
/// sizes of a cache for it. Its children are those of the same three classes, as blocks of this class, and their
/// parameters have the same names. The parameters have the types of the files: Cast and Clear throw
/// <see cref="InvalidOperationException"/>. The folder is read once: the block stays on the device, and computes with the
/// options, with which the model was loaded, and refuses arrays of a manager that has others. Only LoadParameters reads
/// the folder again, which must still be there then.</remarks>
public sealed partial class ModelBlock : NativeBlock
{
    private readonly string folder;

    /// <summary>The names from the whole on, with dots; of the whole empty.</summary>
    private readonly string path = string.Empty;

    /// <summary>Makes the block of a folder, in the context of the manager, which then is the owner of its parameters; null:
    /// in the default context.</summary>
    internal ModelBlock(string folder, NDManager? manager, LoadOptions options, string[] accept)
        : base(Maker(folder, options.Copy(), accept), manager: manager)
    {
        this.folder = folder;
        CountMemory();
    }

    /// <summary>Makes a child, which makes no layer.</summary>
    private ModelBlock(ModelBlock parent, ChildPath at)
        : base(_ => null!, childPath: at)
    {
        folder = parent.folder;
        path = parent.path.Length == 0 ? at.Name : parent.path + "." + at.Name;
    }

    private protected override bool IsOfFolder => true;

    /// <summary>Describes the block.</summary>
    /// <returns>The text.</returns>
    public override string ToString() =>
        path.Length == 0 ? $"ModelBlock({folder})" : $"ModelBlock({folder}, {path})";

    private protected override NativeBlock MakeChild(ChildPath at) => new ModelBlock(this, at);

    private static Func<NativeContext, NativeLayer> Maker(string folder, LoadOptions options, string[] accept)
    {
        byte[] path = NativeText.ToNative(folder, nameof(folder));
        byte[] names = AcceptedNames(accept);
        return context =>
        {
            NativeLayer? made = null;
            if (StoppableCall.Current is { } stoppable)
            {
                stoppable.Run(progress => made = Make(context, path, options, names, progress));
            }
            return made ?? Make(context, path, options, names, IntPtr.Zero);
        };
    }

    private static unsafe NativeLayer Make(
        NativeContext context, byte[] path, LoadOptions options, byte[] names, IntPtr progress)
    {
        using var structs = new NativeStructs();
        NativeLoadOptions load = options.ToNative(structs);
        NativeModelOptions members = structs.Add(new NativeModelOptions());
        load.Progress = progress;
        members.Load = NativeStruct.PointerOf(load);
        fixed (byte* start = path, accept = names)
        {
            load.Accept = accept;
            return HeedNative.HeedModelCreate(context, start, members);
        }
    }
}
