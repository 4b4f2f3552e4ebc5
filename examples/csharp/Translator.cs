// SPDX-License-Identifier: Apache-2.0
using System;
using System.IO;
using System.Linq;
using System.Text;
using Heed;

/// <summary>A whole Transformer that translates: its encoder reads a sentence once, and its decoder's search adds one token
/// after the other.</summary>
internal sealed class Translator : IDisposable
{
    /// <summary>The decoder has positions for 64 tokens, the first of which is the start: a search stops after
    /// 63.</summary>
    internal const int MaxTokens = 63;

    /// <summary>Lines of vocabulary.txt; a token's id is its line, from 0.</summary>
    private readonly string[] vocabulary;

    private readonly Model model = new Model("translator");

    /// <summary>The folder has config.json, model.safetensors and vocabulary.txt.</summary>
    internal Translator(string folder)
    {
        vocabulary = File.ReadAllLines(Path.Combine(folder, "vocabulary.txt"));
        End = IdOf("</s>");
        Start = IdOf("<pad>"); // Marian's decoder starts with the id that pads.
        if (End < 0 || Start < 0) throw new ArgumentException("vocabulary.txt lacks </s> or <pad>, expected both");
        model.Load(folder);
        Search = new BeamSearch(Manager, model.Block, Start, End, NumTokens, MaxTokens);
    }

    internal long Start { get; }

    internal long End { get; }

    internal int NumTokens => vocabulary.Length;

    internal BeamSearch Search { get; }

    internal NDManager Manager { get; } = NDManager.NewBaseManager();

    /// <summary>The id of a token, or -1 if the vocabulary lacks it.</summary>
    internal long IdOf(string token) => Array.IndexOf(vocabulary, token);

    /// <summary>The tokens up to the end, with a space between words, but not behind "l'" and the like.</summary>
    internal string TextOf(long[] tokens)
    {
        var text = new StringBuilder();
        string separator = "";
        foreach (long id in tokens.TakeWhile(id => id != End))
        {
            text.Append(separator).Append(vocabulary[id]);
            separator = vocabulary[id].EndsWith('\'') ? "" : " ";
        }
        return text.ToString();
    }

    /// <summary>Runs the encoder, and projects its output to the keys and values of all the decoder's layers. The search
    /// is then for this sentence.</summary>
    /// <param name="ids">With the end.</param>
    internal void ReadSentence(long[] ids)
    {
        using NDManager sub = Manager.NewSubManager();
        NDArray keys = sub.Create(ids, new Shape(1, ids.Length));
        model.Block.FillCache(new AttentionInputs { Keys = keys, Cache = Search.NewSentence() });
    }

    public void Dispose()
    {
        model.Dispose();
        Manager.Dispose();
    }
}
