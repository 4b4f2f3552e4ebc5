// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Xunit;

namespace Heed.Tests;

/// <summary>SaveParameters and LoadParameters.</summary>
public sealed class ParameterFileTests : IDisposable
{
    /// <summary>The bytes of a ScaledBlock: scale 2, 3; weight 1 to 6; bias -1, 0.5. Java's tests read and write the
    /// same file.</summary>
    private static readonly byte[] Written = File.ReadAllBytes(TestFiles.Data("block_parameters.bin"));

    private readonly NDManager manager = NDManager.NewBaseManager();
    private readonly ParameterStore ps = new ParameterStore();

    public void Dispose() => manager.Dispose();

    [Fact]
    public void ReadsTheFormat()
    {
        using var block = new ScaledBlock();
        using var stream = new MemoryStream(Written.Concat(new byte[] { 42 }).ToArray());
        block.LoadParameters(manager, stream);
        Assert.Equal(42, stream.ReadByte());
        CheckWritten(block);
        Assert.Same(manager, block.Parameters["01inner_bias"].Array.Manager);
        Assert.Same(manager, block.Parameters["scale"].Array.Manager);

        Assert.Equal(Written, Save(block));
    }

    [Fact]
    public void AllBlocksRoundTrip()
    {
        var shape = new Shape(1, 2, 4);
        foreach (Func<Block> make in new Func<Block>[]
        {
            () => new Linear(3, bias: false), () => new Dropout(), () => new DotProductAttention(),
            () => new AdditiveAttention(5), () => new GeneralAttention(4), () => new MultiHeadAttention(4, 2, 0, true),
            () => new ScaledBlock(),
            () => new PositionalEncoding(new PositionalEncodingOptions
            {
                NumHiddens = 4, MaxLen = 2, Kind = PositionKind.Learned,
            }),
            () => new LayerNorm(), () => new FeedForward(new FeedForwardOptions { HiddenSize = 3, Gated = true }),
            () => new Embedding(new EmbeddingOptions { NumEmbeddings = 3, EmbeddingSize = 2 }),
            () => new TransformerEncoder(new TransformerEncoderOptions
            {
                Layer = new TransformerEncoderBlockOptions
                {
                    Attention = new MultiHeadAttentionOptions { NumHiddens = 4, NumHeads = 2 },
                    FeedForward = new FeedForwardOptions { HiddenSize = 3 },
                },
                NumLayers = 2,
            }),
            () => new TransformerDecoder(new TransformerDecoderOptions
            {
                Layer = new TransformerDecoderBlockOptions
                {
                    SelfAttention = new MultiHeadAttentionOptions { NumHiddens = 4, NumHeads = 2 },
                    FeedForward = new FeedForwardOptions { HiddenSize = 3 },
                },
                NumLayers = 2,
            }),
        })
        {
            foreach (DataType type in new[] { DataType.Float32, DataType.BFloat16 })
            {
                using Block block = make();
                bool isSingle = block is not (MultiHeadAttention or DotProductAttention or AdditiveAttention
                    or GeneralAttention);
                Shape[] shapes = isSingle ? new[] { shape } : new[] { shape, shape, shape };
                block.Initialize(manager, type, shapes);
                using Block copy = make();
                using NDManager owner = manager.NewSubManager();
                copy.LoadParameters(owner, new MemoryStream(Save(block)));
                Assert.True(copy.IsInitialized);
                Assert.Equal(shapes, copy.InputShapes);
                foreach (Pair<string, Parameter> parameter in block.Parameters)
                {
                    NDArray found = copy.Parameters[parameter.Key].Array;
                    Assert.Equal(type, found.DataType);
                    Assert.True(parameter.Value.Array.ContentEquals(found));
                }
                owner.Dispose();
                Assert.Equal(block.Parameters.IsEmpty, copy.IsInitialized);
            }
        }
    }

    /// <summary>Loading replaces all parameters of a block, including their types and sizes.</summary>
    [Fact]
    public void ReplacesAllParameters()
    {
        using var block = new ScaledBlock();
        block.Initialize(manager, DataType.Float16, new Shape(1, 7));
        NDArray old = block.Parameters["01inner_weight"].Array;
        block.LoadParameters(manager, new MemoryStream(Written));
        CheckWritten(block);
        Assert.Equal(new Shape(2, 7), old.Shape);
    }

    /// <summary>Wherever the stream ends, the message has the number of bytes that were read, and what should have
    /// followed.</summary>
    [Fact]
    public void EverythingShorterIsRefused()
    {
        using ScaledBlock block = Initialized(out float[] before);
        for (int length = 0; length < Written.Length; length++)
        {
            string start = $"^the stream ends after {length} byte{(length == 1 ? "" : "s")}, and lacks ";
            Assert.Matches(start + "([1-9][0-9]* of the [1-9][0-9]* bytes of )?the [a-z]", EndOf(block, Written, length));
        }
        CheckUnchanged(block, before);

        string text = string.Concat(Written.Select(each => (char)each));
        int type = text.IndexOf("FLOAT32", StringComparison.Ordinal);
        int inner = text.IndexOf("01inner", StringComparison.Ordinal);
        int tensors = text.IndexOf("{\"", StringComparison.Ordinal);
        foreach ((int length, string missing) in new[]
        {
            (0, "the mark \"HEED\" at its beginning"),
            (1, "3 of the 4 bytes of the mark \"HEED\" at its beginning"),
            (4, "the version of its format"),
            (5, "the length of the kind of the block"),
            (6, "1 of the 2 bytes of the length of the kind of the block"),
            (10, "10 of the 13 bytes of the kind of the block"),
            (20, "the version of the block"),
            (23, "2 of the 4 bytes of the number of input shapes of the block"),
            (25, "the number of axes of input 0 of the block"),
            (41, "1 of the 8 bytes of the size of axis 1 of input 0 of the block"),
            (42, "the number of parameters of the block"),
            (50, "3 of the 5 bytes of the name of the parameter \"scale\""),
            (type + 6, "1 of the 7 bytes of the element type of the parameter \"scale\""),
            (type + 7, "the number of axes of the parameter \"scale\""),
            (type + 22, "6 of the 8 bytes of the elements of the parameter \"scale\""),
            (type + 28, "the number of blocks inside the block"),
            (inner + 1, "6 of the 7 bytes of the name of the block \"01inner\""),
            (inner + 7, "the length of the kind of the block \"01inner\""),
            (tensors - 9, "1 of the 4 bytes of the length of the parameters of the block \"01inner\""),
            (tensors - 8, "the parameters of the block \"01inner\""),
            (Written.Length - 4, "the checksum at its end"),
            (Written.Length - 1, "1 of the 4 bytes of the checksum at its end"),
        })
        {
            Assert.EndsWith(", and lacks " + missing, EndOf(block, Written, length));
        }
    }

    /// <summary>Whichever byte is changed: the right exception, and the block does not change.</summary>
    [Fact]
    public void EverythingDamagedIsRefused()
    {
        using ScaledBlock block = Initialized(out float[] before);
        for (int at = 0; at < Written.Length; at++)
        {
            foreach (byte mask in new byte[] { 0x01, 0x80, 0xff })
            {
                byte[] damaged = (byte[])Written.Clone();
                damaged[at] ^= mask;
                Exception? error = Record.Exception(
                    () => block.LoadParameters(manager, new MemoryStream(damaged)));
                Assert.True(
                    error is MalformedModelException or EndOfStreamException, $"byte {at} ^ {mask}: {error}");
            }
        }
        CheckUnchanged(block, before);
    }

    [Fact]
    public void SentencesSayWhatIsWrong()
    {
        void Refused(Block block, byte[] bytes, params string[] words)
        {
            using (block)
            {
                string found = Assert.Throws<MalformedModelException>(
                    () => block.LoadParameters(manager, new MemoryStream(bytes))).Message;
                Assert.All(words, word => Assert.Contains(word, found));
            }
        }
        Refused(new ScaledBlock(), new byte[100], "SaveParameters");
        byte[] later = (byte[])Written.Clone();
        later[4] = 2;
        Refused(new ScaledBlock(), later, "version", "2", "expected 1");
        Refused(new ScaledBlock(2, version: 5), Written, "version of the block", "4", "expected 5");
        Refused(new ScaledBlock(3), Written, "(2, 3)");
        Refused(new Linear(2), Written, "AbstractBlock", "expected Linear");
        Refused(new SilentBlock(true), Save(new SilentBlockOfMine()), "number of blocks");
        using var linear = new Linear(3);
        linear.Initialize(manager, DataType.Float32, new Shape(4));
        Refused(new Linear(2), Save(linear), "weight", "(3, 4)");
        Refused(new Linear(3, bias: false), Save(linear), "bias");
        byte[] damaged = Save(linear);
        damaged[damaged.Length - 1] ^= 1;
        Refused(new Linear(3), damaged, "checksum");
    }

    /// <summary>The block's own parameter has another shape than the stream's.</summary>
    [Fact]
    public void ShapesOfAProgramsOwnParametersAreChecked()
    {
        using var block = new ScaledBlock(2);
        block.Parameters["scale"].SetShape(new Shape(5));
        Assert.Contains("(5)", Assert.Throws<MalformedModelException>(
            () => block.LoadParameters(manager, new MemoryStream(Written))).Message);
        Assert.False(block.Parameters["01inner_weight"].IsInitialized);
    }

    [Fact]
    public void NothingIsWrittenWhereAParameterIsMissing()
    {
        using var block = new ScaledBlock();
        var stream = new MemoryStream();
        Assert.Throws<InvalidOperationException>(() => block.SaveParameters(stream));
        block.Parameters["scale"].SetArray(manager.Ones(new Shape(2)));
        Assert.Contains("weight", Assert.Throws<InvalidOperationException>(
            () => block.SaveParameters(stream)).Message);
        Assert.Equal(0, stream.Length);
    }

    /// <summary>Streams that throw, return a byte at a time, or cannot seek.</summary>
    [Fact]
    public void StreamsOfAllKinds()
    {
        using var block = new ScaledBlock();
        block.LoadParameters(manager, new SlowStream(Written));
        CheckWritten(block);
        Assert.Equal("mine", Assert.Throws<IOException>(
            () => block.LoadParameters(manager, new SlowStream(Written, 200))).Message);
        CheckWritten(block);
        Assert.Equal("mine", Assert.Throws<IOException>(
            () => block.SaveParameters(new SlowStream(Written, 10))).Message);

        using var attention = new MultiHeadAttention(100, 5);
        byte[] golden = File.ReadAllBytes(TestFiles.Golden("d2l"));
        Assert.Equal("mine", Assert.Throws<IOException>(
            () => attention.Load(new SlowStream(golden, 1000), "attention")).Message);
        Assert.False(attention.IsInitialized);
        Assert.Equal(Status.CorruptFile, Assert.Throws<HeedException>(
            () => attention.Load(new MemoryStream(golden, 0, 1000), "attention")).Status);
        Assert.Equal(Status.CorruptFile, Assert.Throws<HeedException>(
            () => attention.Load(new MemoryStream(), "attention")).Status);
        attention.Load(new SlowStream(golden), "attention");
        Assert.True(attention.IsInitialized);
        Assert.Equal("mine", Assert.Throws<IOException>(() => attention.Save(new SlowStream(golden, 10))).Message);
    }

    [Fact]
    public void Nulls()
    {
        using var linear = new Linear(2);
        Assert.Throws<ArgumentNullException>("stream", () => linear.SaveParameters(null!));
        Assert.Throws<ArgumentNullException>("stream", () => linear.LoadParameters(manager, null!));
        Assert.Throws<ArgumentNullException>("manager", () => linear.LoadParameters(null!, new MemoryStream()));
        Assert.Throws<ArgumentNullException>("stream", () => linear.Load((Stream)null!));
        Assert.Throws<ArgumentNullException>("stream", () => linear.Save((Stream)null!));
        NDManager closed = manager.NewSubManager();
        closed.Dispose();
        Assert.Throws<ObjectDisposedException>(() => linear.LoadParameters(closed, new MemoryStream(Written)));
        linear.Dispose();
        Assert.Throws<ObjectDisposedException>(() => linear.LoadParameters(manager, new MemoryStream(Written)));
        Assert.Throws<ObjectDisposedException>(() => linear.SaveParameters(new MemoryStream()));
        Assert.Throws<ObjectDisposedException>(() => linear.Save(new MemoryStream()));
    }

    private static byte[] Save(Block block)
    {
        using var stream = new MemoryStream();
        block.SaveParameters(stream);
        return stream.ToArray();
    }

    /// <summary>A stream that claims to have read a negative number of bytes, or more than were requested.</summary>
    [Fact]
    public void StreamsWithWrongCountsAreRefused()
    {
        using ScaledBlock block = Initialized(out float[] before);
        using var linear = new Linear(2);
        foreach (int excess in new[] { int.MinValue, 1 })
        {
            foreach (Action load in new Action[]
            {
                () => block.LoadParameters(manager, new WrongCountStream(Written, excess)),
                () => linear.Load(new WrongCountStream(Written, excess)),
            })
            {
                Assert.Contains("the stream says that it has read", Assert.Throws<IOException>(load).Message);
            }
        }
        CheckUnchanged(block, before);
        Assert.False(linear.IsInitialized);
    }

    private string EndOf(Block block, byte[] bytes, int length) => Assert.Throws<EndOfStreamException>(
        () => block.LoadParameters(manager, new MemoryStream(bytes, 0, length))).Message;

    private ScaledBlock Initialized(out float[] numbers)
    {
        var block = new ScaledBlock();
        block.Initialize(manager, DataType.Float32, new Shape(5, 3));
        numbers = Numbers(block);
        return block;
    }

    private static float[] Numbers(Block block) =>
        block.Parameters.Values.SelectMany(parameter => parameter.Array.ToFloatArray()).ToArray();

    private static void CheckUnchanged(Block block, IEnumerable<float> before)
    {
        Assert.Equal(before, Numbers(block));
        Assert.Equal(new[] { new Shape(5, 3) }, block.InputShapes);
    }

    private void CheckWritten(ScaledBlock block)
    {
        Assert.True(block.IsInitialized);
        Assert.Equal(new[] { new Shape(2, 3) }, block.InputShapes);
        Assert.Equal(new[] { 2, 3, 1, 2, 3, 4, 5, 6, -1, 0.5f }, Numbers(block));
        NDArray x = manager.Create(new float[] { 1, 0, -1 }, new Shape(1, 3));
        Assert.Equal(new[] { -6, -4.5f }, block.Forward(ps, new NDList(x)).Head.ToFloatArray());
    }

    /// <summary>A composed block without anything inside.</summary>
    private sealed class SilentBlockOfMine : AbstractBlock
    {
        protected override NDList ForwardInternal(
            ParameterStore parameterStore, NDList inputs, bool training, PairList<string, object>? parameters) =>
            inputs;
    }

    /// <summary>Returns a larger number than that of the requested bytes.</summary>
    private sealed class WrongCountStream : SlowStream
    {
        private readonly int excess;

        internal WrongCountStream(byte[] bytes, int excess)
            : base(bytes)
        {
            this.excess = excess;
        }

        public override int Read(byte[] buffer, int offset, int count) => unchecked(count + excess);
    }

    /// <summary>Returns one byte at a time, and throws after a number of bytes.</summary>
    private class SlowStream : Stream
    {
        private readonly byte[] bytes;
        private readonly int end;
        private int at;

        internal SlowStream(byte[] bytes, int end = int.MaxValue)
        {
            this.bytes = bytes;
            this.end = end;
        }

        public override bool CanRead => true;

        public override bool CanSeek => false;

        public override bool CanWrite => true;

        public override long Length => throw new NotSupportedException();

        public override long Position
        {
            get => throw new NotSupportedException();
            set => throw new NotSupportedException();
        }

        public override int Read(byte[] buffer, int offset, int count)
        {
            Count(1);
            if (at > bytes.Length || count == 0)
            {
                return 0;
            }
            buffer[offset] = bytes[at - 1];
            return 1;
        }

        public override void Write(byte[] buffer, int offset, int count) => Count(count);

        public override void Flush()
        {
        }

        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

        public override void SetLength(long value) => throw new NotSupportedException();

        private void Count(int more)
        {
            at += more;
            if (at > end)
            {
                throw new IOException("mine");
            }
        }
    }
}
