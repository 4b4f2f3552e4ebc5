// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using Xunit;

namespace Heed.Tests;

/// <summary>Every public member, called with nulls and on disposed objects: it throws its documented exception, and
/// never NullReferenceException or worse. Members that take spans have tests of their own.</summary>
public sealed class EveryMemberTests : IDisposable
{
    private const BindingFlags Own =
        BindingFlags.Public | BindingFlags.Instance | BindingFlags.Static | BindingFlags.DeclaredOnly;

    private static readonly Type[] Types =
    {
        typeof(NDManager), typeof(NDArray), typeof(NDList), typeof(Shape), typeof(Device), typeof(ContextOptions),
        typeof(LoadOptions), typeof(Workspace), typeof(Weights), typeof(DataTypeExtensions),
        typeof(Block), typeof(AbstractBlock), typeof(NativeBlock), typeof(Linear), typeof(Dropout),
        typeof(DotProductAttention), typeof(AdditiveAttention), typeof(GeneralAttention), typeof(MultiHeadAttention),
        typeof(PositionalEncoding), typeof(DotProductAttentionOptions), typeof(AdditiveAttentionOptions),
        typeof(GeneralAttentionOptions), typeof(MultiHeadAttentionOptions),
        typeof(PositionalEncodingOptions), typeof(RopeOptions),
        typeof(LayerNorm), typeof(LayerNormOptions), typeof(FeedForward), typeof(FeedForwardOptions),
        typeof(Embedding), typeof(EmbeddingOptions), typeof(TransformerEncoderBlock),
        typeof(TransformerEncoderBlockOptions), typeof(TransformerDecoderBlock),
        typeof(TransformerDecoderBlockOptions), typeof(TransformerEncoder), typeof(TransformerEncoderOptions),
        typeof(TransformerDecoder), typeof(TransformerDecoderOptions), typeof(Transformer), typeof(TransformerOptions),
        typeof(OutputOptions), typeof(SequentialBlock), typeof(Model), typeof(ModelBlock),
        typeof(AttentionInputs), typeof(AttentionOutputs), typeof(Taps), typeof(Activation),
        typeof(PatchEmbedding), typeof(PatchEmbeddingOptions), typeof(AudioEmbedding), typeof(AudioEmbeddingOptions),
        typeof(KvCache), typeof(KvCacheOptions), typeof(NDArrays), typeof(NDScope),
        typeof(Parameter), typeof(ParameterStore),
        typeof(Initializer), typeof(ConstantInitializer), typeof(NormalInitializer),
        typeof(UniformInitializer), typeof(TruncatedNormalInitializer), typeof(XavierInitializer),
        typeof(Optimizer), typeof(Sgd), typeof(Adam), typeof(AdamW), typeof(Loss), typeof(TrainingProgress),
        typeof(Chap10Utils), typeof(PairList<string, object>), typeof(BlockList), typeof(ParameterList),
    };

    /// <summary>Members that also work on a disposed object.</summary>
    private static readonly string[] ForEver =
    {
        "Dispose", "ToString", "Equals", "GetHashCode", "get_Manager", "get_Name", "set_Name", "get_IsReleased",
        "get_IsOpen", "get_ParentManager", "NDManager.get_Device", "get_LearningRate",
    };

    private readonly NDManager manager = TestDevice.NewManager();
    private readonly TestFolder folder = new TestFolder();
    private readonly byte[] saved;

    public EveryMemberTests()
    {
        using var linear = new Linear(2);
        linear.Initialize(manager, DataType.Float32, new Shape(2, 2));
        using var stream = new MemoryStream();
        linear.SaveParameters(stream);
        saved = stream.ToArray();
    }

    public void Dispose()
    {
        manager.Dispose();
        folder.Dispose();
    }

    [Fact]
    public void NothingCrashesOnNulls()
    {
        int calls = 0;
        foreach (MethodBase member in Types.SelectMany(Members))
        {
            object?[] nothing = member.GetParameters().Select(parameter => Nothing(parameter.ParameterType)).ToArray();
            Exception? error = Call(member, member.IsStatic ? null : Fresh(member.DeclaringType!), nothing);
            calls++;
            Assert.True(IsFitting(error), $"{member.DeclaringType}.{member}: {error}");

            // The exception names the reference that must not be null.
            ParameterInfo? needed = member.GetParameters().FirstOrDefault(MustNotBeNull);
            if (needed != null && member.Name != "Equals" && !member.DeclaringType!.IsGenericType)
            {
                Assert.True(error is ArgumentNullException, $"{member.DeclaringType}.{member}: {error}");
            }
        }
        Assert.InRange(calls, 250, 1000);
    }

    [Fact]
    public void DisposedObjectsThrow()
    {
        foreach (Type type in new[]
        {
            typeof(NDManager), typeof(NDArray), typeof(Workspace), typeof(Weights), typeof(KvCache), typeof(Model),
            typeof(Optimizer),
        })
        {
            foreach (MethodBase member in Members(type).Where(member => !member.IsStatic && !member.IsConstructor))
            {
                object disposed = Fresh(type);
                ((IDisposable)disposed).Dispose();
                object?[] valid = member.GetParameters().Select(parameter => Valid(parameter.ParameterType)).ToArray();
                Exception? error = Call(member, disposed, valid);
                bool isForEver = ForEver.Contains(member.Name) || ForEver.Contains(type.Name + "." + member.Name);
                Assert.True(
                    isForEver ? error is null : error is ObjectDisposedException, $"{type}.{member}: {error}");
                if (!isForEver)
                {
                    Assert.Contains(" is closed", error!.Message);
                }
            }
        }
    }

    /// <summary>Twenty thousand calls with random arguments of all kinds, including disposed objects.</summary>
    [Fact]
    public void NothingCrashesOnNonsense()
    {
        var random = new Random(5);
        MethodBase[] members = Types.SelectMany(Members).ToArray();
        for (int i = 0; i < 20_000; i++)
        {
            MethodBase member = members[random.Next(members.Length)];
            object? target = member.IsStatic ? null : Fresh(member.DeclaringType!);
            if (random.Next(8) == 0)
            {
                (target as IDisposable)?.Dispose();
            }
            object?[] nonsense = member.GetParameters()
                .Select(parameter => Nonsense(random, parameter.ParameterType)).ToArray();
            if (member.Name == nameof(NDManager.Arange) && nonsense.Contains(int.MinValue))
            {
                // This call is valid, but its result would have about 2^31 elements.
                continue;
            }
            Exception? error = Call(member, target, nonsense);
            Assert.True(
                IsFitting(error), $"call {i}, {member.DeclaringType}.{member}({string.Join(", ", nonsense)}): {error}");
            (target as IDisposable)?.Dispose();
        }
        Assert.True(manager.IsOpen);
    }

    private static bool IsFitting(Exception? error) => error is null or ArgumentException or InvalidOperationException
        or NotSupportedException or IndexOutOfRangeException or OverflowException or OutOfMemoryException
        or IOException or InvalidDataException or HeedException or MalformedModelException or KeyNotFoundException;

    private static IEnumerable<MethodBase> Members(Type type) => type.GetMethods(Own)
        .Select(method => method.IsGenericMethod ? method.MakeGenericMethod(typeof(float)) : method)
        .Concat<MethodBase>(type.GetConstructors())
        .Where(member => !member.IsAbstract)
        .Where(member => member is not MethodInfo { ReturnType.IsByRefLike: true })
        .Where(member => !member.GetParameters().Any(parameter => parameter.ParameterType.IsByRefLike));

    private static object? Nothing(Type type) => type.IsValueType ? Activator.CreateInstance(type) : null;

    private static bool MustNotBeNull(ParameterInfo parameter) =>
        !parameter.ParameterType.IsValueType
        && new NullabilityInfoContext().Create(parameter).WriteState == NullabilityState.NotNull;

    private static Exception? Call(MethodBase member, object? target, object?[] arguments)
    {
        try
        {
            _ = member is ConstructorInfo made ? made.Invoke(arguments) : member.Invoke(target, arguments);
            return null;
        }
        catch (TargetInvocationException error)
        {
            return error.InnerException;
        }
    }

    private object Fresh(Type type) =>
        type == typeof(NDManager) ? manager.NewSubManager()
        : type == typeof(NDArray) ? manager.Ones(new Shape(2, 2))
        : type == typeof(NDList) ? new NDList(manager.Ones(new Shape(2)))
        : type == typeof(Workspace) ? manager.NewWorkspace(1)
        : type == typeof(Weights) ? Weights.Open(TestFiles.Write(folder["weights"], "{}"))
        : type == typeof(Shape) ? new Shape(2, 2)
        : type == typeof(Device) ? Device.Cpu()
        : type == typeof(ContextOptions) ? new ContextOptions()
        : type == typeof(LoadOptions) ? new LoadOptions()
        : FreshBlock(type) ?? FreshOfBlocks(type);

    private T Fresh<T>() => (T)Fresh(typeof(T));

    private Block? FreshBlock(Type type)
    {
        Block? block = type == typeof(Block) || type == typeof(AbstractBlock) ? new ScaledBlock()
            : type == typeof(NativeBlock) || type == typeof(Linear) ? new Linear(2)
            : type == typeof(Dropout) ? new Dropout(0.5f)
            : type == typeof(DotProductAttention) ? new DotProductAttention(0.5f)
            : type == typeof(AdditiveAttention) ? new AdditiveAttention(2)
            : type == typeof(GeneralAttention) ? new GeneralAttention(2)
            : type == typeof(MultiHeadAttention) ? new MultiHeadAttention(2, 1)
            : type == typeof(PositionalEncoding) ? new PositionalEncoding(2, 0, 2, manager)
            : FreshNetwork(type);
        if (block is Linear or ScaledBlock)
        {
            block.Initialize(manager, DataType.Float32, new Shape(2, 2));
        }
        return block;
    }

    private static NativeBlock? FreshNetwork(Type type)
    {
        TransformerEncoderBlockOptions encoder = TransformerScene.EncoderLayer();
        TransformerDecoderBlockOptions decoder = TransformerScene.DecoderLayer();
        return type == typeof(LayerNorm) ? new LayerNorm()
            : type == typeof(FeedForward) ? new FeedForward(new FeedForwardOptions { HiddenSize = 2 })
            : type == typeof(Embedding) ? new Embedding(new EmbeddingOptions { NumEmbeddings = 2, EmbeddingSize = 2 })
            : type == typeof(PatchEmbedding)
                ? new PatchEmbedding(new PatchEmbeddingOptions { PatchHeight = 1, NumChannels = 2, NumHiddens = 2 })
            : type == typeof(AudioEmbedding)
                ? new AudioEmbedding(new AudioEmbeddingOptions { NumMels = 2, NumHiddens = 2 })
            : type == typeof(TransformerEncoderBlock) ? new TransformerEncoderBlock(encoder)
            : type == typeof(TransformerDecoderBlock) ? new TransformerDecoderBlock(decoder)
            : type == typeof(TransformerEncoder)
                ? new TransformerEncoder(new TransformerEncoderOptions { Layer = encoder, NumLayers = 2 })
            : type == typeof(TransformerDecoder)
                ? new TransformerDecoder(new TransformerDecoderOptions { Layer = decoder, NumLayers = 2 })
            : type == typeof(ModelBlock) ? LoadedModel()
            : type == typeof(Transformer) ? new Transformer(new TransformerOptions
            {
                Encoder = new TransformerEncoderOptions { Layer = encoder, NumLayers = 1 },
                Decoder = new TransformerDecoderOptions { Layer = decoder, NumLayers = 1 },
            })
            : null;
    }

    private static ModelBlock LoadedModel()
    {
        var model = new Model("llama");
        model.Load(TestFiles.Data("models/llama"));
        return model.Block;
    }

    private object FreshOfBlocks(Type type) =>
        type == typeof(AttentionInputs) ? new AttentionInputs(manager.Ones(new Shape(2, 2)))
        : type == typeof(AttentionOutputs) ? new AttentionOutputs(manager.Ones(new Shape(2, 2)))
        : type == typeof(KvCache) ? new KvCache(
            manager, new KvCacheOptions { NumKvHeads = 1, HeadSize = 2, Capacity = 16, MaxSequences = 2 })
        : type == typeof(KvCacheOptions) ? new KvCacheOptions()
        : type == typeof(NDScope) ? manager.NewScope()
        : type == typeof(Taps) ? new Taps("self_attention")
        : type == typeof(Model) ? new Model("model")
        : typeof(Optimizer).IsAssignableFrom(type) ? new Sgd(Fresh<Linear>().Parameters)
        : type == typeof(TrainingProgress) ? new TrainingProgress(2)
        : type == typeof(Parameter) ? new Parameter("p", ParameterType.Weight, new Shape(2, 2))
        : type == typeof(PairList<string, object>) ? new PairList<string, object> { { "a", "b" } }
        : type == typeof(Initializer) ? Initializer.Ones
        : type == typeof(Pair<string, object>) ? new Pair<string, object>("a", "b")
        : type == typeof(Stream) ? new MemoryStream(saved)
        : type == typeof(Predicate<Parameter>) ? new Predicate<Parameter>(_ => true)
        : Activator.CreateInstance(type, OptionalsOf(type))!;

    private static object?[] OptionalsOf(Type type) =>
        type.GetConstructors()[0].GetParameters().Select(parameter => parameter.DefaultValue is DBNull ? 1f
            : parameter.ParameterType.IsEnum ? Enum.ToObject(parameter.ParameterType, parameter.DefaultValue!)
            : parameter.DefaultValue).ToArray();

    private object? Valid(Type type) =>
        type == typeof(NDManager) ? manager
        : type == typeof(NDArray) ? manager.Ones(new Shape(2, 2))
        : type == typeof(Shape) ? new Shape(1)
        : type == typeof(string) ? folder["file"]
        : type == typeof(float) ? 1f
        : type == typeof(float[][]) ? new[] { new float[1] }
        : type == typeof(float[,]) ? new float[1, 1]
        : type == typeof(float[,,]) ? new float[1, 1, 1]
        : type == typeof(Memory<float>) ? new float[1].AsMemory()
        : type.IsArray ? Array.CreateInstance(type.GetElementType()!, 1)
        : type == typeof(object) || typeof(Delegate).IsAssignableFrom(type) && type != typeof(Predicate<Parameter>)
            ? Nothing(type)
        : type.IsGenericType && type.GetGenericTypeDefinition() == typeof(IEnumerable<>) && type.GenericTypeArguments[0].IsPrimitive
            ? Array.CreateInstance(type.GenericTypeArguments[0], 1)
        : type.IsInterface || type.IsValueType || type.IsByRef ? Nothing(type)
        : Fresh(type);

    private object? Nonsense(Random random, Type type)
    {
        Type element = Nullable.GetUnderlyingType(type) ?? type;
        if (random.Next(8) == 0)
        {
            return Nothing(type);
        }
        return element.IsEnum && element != typeof(DataType) ? Enum.ToObject(element, random.Next(-1, 10))
            : element == typeof(NDList) ? SomeList(random)
            : element == typeof(AttentionInputs) ? SomeInputs(random)
            : element == typeof(AttentionOutputs) ? new AttentionOutputs(
                SomeArray(random), random.Next(2) == 0 ? null : SomeArray(random))
            : element == typeof(Taps) ? new Taps(Any(random, "self_attention", "layers.0.self_attention", "a"))
            : element == typeof(Stream) ? SomeStream(random)
            : element == typeof(Shape[]) ? Some(random, () => random.Next(8) == 0 ? null! : SomeShape(random))
            : element == typeof(DataType[]) ? Some(random, () => (DataType)random.Next(-1, 10))
            : element == typeof(int) ? Any(random, -2, -1, 0, 1, 2, 3, int.MinValue)
            : element == typeof(long) ? Any(random, -1L, 0, 1, 2, 3, 1L << 50, long.MinValue, long.MaxValue)
            : element == typeof(float) ? Any(random, -1f, 0, 1, 2.5f, float.NaN, float.PositiveInfinity)
            : element == typeof(double) ? Any(random, -1, 0, 1e-3, double.NaN, double.NegativeInfinity)
            : element == typeof(bool) ? random.Next(2) == 0
            : element == typeof(DataType) ? (DataType)random.Next(-1, 10)
            : element == typeof(string) ? Any(random, folder["a"], folder["no/b"], "cpu", "", "\0", "\ud800")
            : element == typeof(Shape) ? SomeShape(random)
            : element == typeof(NDArray) ? SomeArray(random)
            : element == typeof(long[]) ? Some(random, () => (long)Nonsense(random, typeof(long))!)
            : element == typeof(int[]) ? Some(random, () => random.Next(-2, 4))
            : element == typeof(float[]) ? new float[random.Next(8)]
            : element == typeof(NDIndex[]) ? Some(random, () => Any<NDIndex>(
                random, 0, -1, 2, NDIndex.Slice(), NDIndex.Slice(1), NDIndex.Ellipsis, NDIndex.NewAxis, NDIndex.Slice(step: -1),
                long.MinValue))
            : element == typeof(NDArray[]) ? Some(random, () => SomeArray(random))
            : Valid(element);
    }

    private NDList SomeList(Random random)
    {
        NDArray x = SomeArray(random);
        NDArray y = SomeArray(random);
        return Any(
            random,
            new NDList(x), new NDList(x, x, x), new NDList(x, y, y), new NDList(x, y, x, y), new NDList(),
            new NDList((NDArray?)null), new NDList(x, null, y), new NDList(x, y, y, null));
    }

    private AttentionInputs SomeInputs(Random random)
    {
        NDList list = SomeList(random);
        NDArray? At(int index) => index < list.Count ? list[index] : null;
        return new AttentionInputs(At(0), At(1), At(2), At(3))
        {
            Mask = random.Next(4) == 0 ? SomeMask(random) : null,
            Bias = random.Next(4) == 0 ? SomeArray(random) : null,
            AlibiSlopes = random.Next(8) == 0 ? SomeArray(random) : null,
            Sinks = random.Next(8) == 0 ? SomeArray(random) : null,
            Positions = random.Next(8) == 0 ? SomeArray(random) : null,
            QueryLens = random.Next(8) == 0 ? SomeArray(random) : null,
            QueryOffsets = random.Next(8) == 0 ? SomeArray(random) : null,
            KeyOffsets = random.Next(8) == 0 ? SomeArray(random) : null,
            KeyPositions = random.Next(8) == 0 ? SomeArray(random) : null,
            AttentionMask = random.Next(8) == 0 ? SomeArray(random) : null,
            SelfAttentionMask = random.Next(8) == 0 ? SomeArray(random) : null,
            Cache = random.Next(4) == 0 ? SomeCache(random) : null,
            Sequences = random.Next(8) == 0 ? Some(random, () => (long)random.Next(-1, 3)) : null,
            CacheLayer = random.Next(16) == 0 ? random.Next(-1, 3) : 0,
            MemoryCache = random.Next(8) == 0 ? SomeCache(random) : null,
            Memory = random.Next(8) == 0 ? SomeArray(random) : null,
            TokenTypes = random.Next(8) == 0 ? SomeArray(random) : null,
            CacheUse = random.Next(16) == 0 ? (CacheUse)random.Next(-1, 3) : CacheUse.Append,
            Training = random.Next(2) == 0,
        };
    }

    private NDArray SomeMask(Random random)
    {
        NDArray mask = manager.Ones(new Shape(random.Next(3), 2), DataType.Boolean);
        if (random.Next(8) == 0)
        {
            mask.Dispose();
        }
        return mask;
    }

    private KvCache SomeCache(Random random)
    {
        var cache = (KvCache)Fresh(typeof(KvCache));
        if (random.Next(8) == 0)
        {
            cache.Dispose();
        }
        return cache;
    }

    /// <summary>The bytes of SaveParameters, sometimes truncated or damaged.</summary>
    private MemoryStream SomeStream(Random random)
    {
        var bytes = (byte[])saved.Clone();
        bytes[random.Next(bytes.Length)] ^= (byte)random.Next(2);
        return new MemoryStream(bytes, 0, random.Next(4) == 0 ? random.Next(bytes.Length) : bytes.Length);
    }

    private static T Any<T>(Random random, params T[] choices) => choices[random.Next(choices.Length)];

    private static T[] Some<T>(Random random, Func<T> one) =>
        Enumerable.Range(0, random.Next(4)).Select(_ => one()).ToArray();

    private static Shape SomeShape(Random random) => Any(
        random,
        new Shape(), new Shape(0), new Shape(4), new Shape(2, 2), new Shape(1, 4, 1), new Shape(1, 2, 2), new Shape(-1), new Shape(-2, -2),
        new Shape(1L << 50), new Shape(1L << 40, 1L << 40), new Shape(long.MinValue, 0), new Shape(new long[9]));

    private NDArray SomeArray(Random random)
    {
        NDArray array = manager.Ones(Any(
            random, new Shape(), new Shape(2, 0), new Shape(4), new Shape(2, 2), new Shape(1, 2, 2)));
        if (random.Next(4) == 0)
        {
            array = array.ToType((DataType)random.Next(9));
        }
        if (random.Next(8) == 0)
        {
            array.Dispose();
        }
        return random.Next(4) == 0 && !array.IsReleased ? array.Transpose() : array;
    }
}
