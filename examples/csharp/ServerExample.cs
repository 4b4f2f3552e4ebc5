// SPDX-License-Identifier: Apache-2.0
// Several threads serve requests on one layer, as a server's do. Each has its own inputs, outputs and workspace, which it
// makes once and uses for every request, so that a call allocates nothing. A request here is the self-attention of a
// sentence of up to 32 words.
//
//   run server
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Threading.Tasks;
using Heed;

internal static class ServerExample
{
    private const int NumThreads = 4;
    private const int RequestsPerThread = 2000;
    private const int MaxWords = 32;
    private const int NumHiddens = 64;

    internal static int Main()
    {
        // Many requests at once keep the processor busy: each is computed on the thread that asks.
        using NDManager manager = NDManager.NewBaseManager(Device.Cpu(), new ContextOptions { NumThreads = 1 });
        using MultiHeadAttention attention = new MultiHeadAttention(
            new MultiHeadAttentionOptions { NumHiddens = NumHiddens, NumHeads = 4 });

        // A server loads its weights: attention.Load(path, prefix).
        Shape sentence = new Shape(1, MaxWords, NumHiddens);
        attention.Initialize(manager, DataType.Float32, sentence, sentence, sentence);
        List<Request> requests = MakeRequests(manager, attention);

        Task<long>[] threads = Enumerable.Range(0, NumThreads)
            .Select(_ => Task.Factory.StartNew(
                () => Serve(manager, attention, requests), TaskCreationOptions.LongRunning))
            .ToArray();
        long bytes = threads.Sum(thread => thread.Result);
        int calls = NumThreads * RequestsPerThread;
        string each = ((double)bytes / calls).ToString(CultureInfo.InvariantCulture);
        Console.WriteLine($"{calls} requests on {NumThreads} threads, every answer right");
        Console.WriteLine($"{each} bytes of .NET's heap allocated per call");
        return 0;
    }

    /// <summary>A thread's work. Returns how many bytes of .NET's heap it took.</summary>
    private static long Serve(NDManager manager, MultiHeadAttention attention, List<Request> requests)
    {
        using Worker worker = new Worker(manager, attention);
        long bytes = 0;

        // In the first half .NET still compiles.
        for (int i = 0; i < 2 * RequestsPerThread; i++)
        {
            if (i == RequestsPerThread)
            {
                bytes = GC.GetAllocatedBytesForCurrentThread();
            }
            Request request = requests[i % requests.Count];
            if (!worker.Answer(request.Words).SequenceEqual(request.Expected))
            {
                throw new InvalidOperationException($"request {i} got a wrong answer");
            }
        }
        return GC.GetAllocatedBytesForCurrentThread() - bytes;
    }

    /// <summary>Sentences of 1 to MaxWords words, and their answers: all in new arrays, which is the simple
    /// way.</summary>
    private static List<Request> MakeRequests(NDManager parent, MultiHeadAttention attention)
    {
        List<Request> requests = new List<Request>();
        Random random = new Random(42);
        for (int numWords = 1; numWords <= MaxWords; numWords++)
        {
            using NDManager manager = parent.NewSubManager();
            float[] words = new float[numWords * NumHiddens];
            for (int i = 0; i < words.Length; i++)
            {
                words[i] = random.NextSingle() - 0.5f;
            }
            float[] padded = new float[MaxWords * NumHiddens];
            words.CopyTo(padded, 0);
            NDArray sentence = manager.Create(padded, new Shape(1, MaxWords, NumHiddens));
            NDList input = new NDList(sentence, sentence, sentence, manager.Create(new[] { numWords }));
            NDArray answer = attention.Forward(new ParameterStore(manager, false), input).SingletonOrThrow();
            requests.Add(new Request(words, answer.ToFloatArray()[..words.Length]));
        }
        return requests;
    }

    /// <summary>A sentence, (words, NumHiddens), and what a server must answer.</summary>
    private sealed record Request(float[] Words, float[] Expected);

    /// <summary>What one thread needs for all of its calls, made for the largest request.</summary>
    private sealed class Worker : IDisposable
    {
        private readonly NDManager manager;
        private readonly MultiHeadAttention attention;
        private readonly float[] words = new float[MaxWords * NumHiddens];
        private readonly int[] numWords = new int[1];
        private readonly AttentionInputs inputs;
        private readonly AttentionOutputs outputs;
        private readonly Memory<float> answer;
        private readonly Workspace workspace;

        public Worker(NDManager parent, MultiHeadAttention attention)
        {
            this.attention = attention;
            manager = parent.NewSubManager();

            // The arrays lie in the memory of words and numWords, and answer in that of the output.
            inputs = new AttentionInputs
            {
                Queries = manager.Wrap(words, new Shape(1, MaxWords, NumHiddens)),
                ValidLens = manager.Wrap(numWords),
            };
            outputs = attention.CreateOutputs(inputs);
            answer = outputs.Output!.AsMemory<float>();
            workspace = manager.NewWorkspace(attention.WorkspaceSize(inputs, outputs));
        }

        /// <summary>Returns the answer, which the next call overwrites.</summary>
        public ReadOnlySpan<float> Answer(float[] request)
        {
            request.CopyTo(words, 0);
            numWords[0] = request.Length / NumHiddens;
            attention.Forward(inputs, outputs, workspace);
            return answer.Span[..request.Length];
        }

        public void Dispose() => manager.Dispose();
    }
}
