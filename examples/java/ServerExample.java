// SPDX-License-Identifier: Apache-2.0
import com.sun.management.ThreadMXBean;
import io.heed.AttentionInputs;
import io.heed.AttentionOutputs;
import io.heed.ContextOptions;
import io.heed.DataType;
import io.heed.Device;
import io.heed.MultiHeadAttention;
import io.heed.NDArray;
import io.heed.NDList;
import io.heed.NDManager;
import io.heed.ParameterStore;
import io.heed.Shape;
import io.heed.Workspace;

import java.lang.management.ManagementFactory;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Several threads serve requests on one layer, as a server's do. Each has its own inputs, outputs and workspace, which
 * it makes once and uses for every request, so that a call allocates nothing. A request here is the self-attention of a
 * sentence of up to 32 words.
 *
 * <pre>
 * run server
 * </pre>
 */
public class ServerExample {
    private static final int NUM_THREADS = 4;
    private static final int NUM_ROUNDS = 12;
    private static final int REQUESTS_PER_ROUND = 320;
    private static final int MAX_WORDS = 32;
    private static final int NUM_HIDDENS = 64;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    public static void main(String[] args) throws InterruptedException, ExecutionException {
        // Many requests at once keep the processor busy: each is computed on the thread that asks.
        ContextOptions options = ContextOptions.builder().optNumThreads(1).build();
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), options);
                MultiHeadAttention attention =
                        MultiHeadAttention.builder().setNumHiddens(NUM_HIDDENS).setNumHeads(4).build()) {
            // A server loads its weights: attention.load(path, prefix).
            Shape sentence = new Shape(1, MAX_WORDS, NUM_HIDDENS);
            attention.initialize(manager, DataType.FLOAT32, sentence, sentence, sentence);
            List<Request> requests = requests(manager, attention);

            ExecutorService threads = Executors.newFixedThreadPool(NUM_THREADS);
            List<Future<Long>> results = new ArrayList<>();
            for (int i = 0; i < NUM_THREADS; i++) {
                results.add(threads.submit(() -> serve(manager, attention, requests)));
            }
            threads.shutdown();
            long bytes = 0;
            for (Future<Long> result : results) {
                bytes = Math.max(bytes, result.get());
            }
            System.out.println(NUM_THREADS * NUM_ROUNDS * REQUESTS_PER_ROUND + " requests on " + NUM_THREADS
                    + " threads, every answer right");
            System.out.println(bytes + " bytes of Java's heap allocated by " + REQUESTS_PER_ROUND + " calls");
        }
    }

    /**
     * A thread's work. Returns how many bytes of Java's heap it took for a round: the fewest of all rounds, since Java
     * itself allocates some now and then while it loads and compiles.
     */
    private static long serve(NDManager manager, MultiHeadAttention attention, List<Request> requests) {
        try (Worker worker = new Worker(manager, attention)) {
            long fewest = Long.MAX_VALUE;
            for (int round = 0; round < NUM_ROUNDS; round++) {
                long before = allocatedBytes();
                for (int i = 0; i < REQUESTS_PER_ROUND; i++) {
                    Request request = requests.get(i % requests.size());
                    if (!request.isAnswer(worker.answer(request.words))) {
                        throw new IllegalStateException("request " + i + " got a wrong answer");
                    }
                }
                fewest = Math.min(fewest, allocatedBytes() - before);
            }
            return fewest;
        }
    }

    /** What one thread needs for all of its calls, made for the largest request. */
    private static final class Worker implements AutoCloseable {
        private final NDManager manager;
        private final MultiHeadAttention attention;
        private final FloatBuffer words;
        private final IntBuffer numWords;
        private final AttentionInputs inputs;
        private final AttentionOutputs outputs;
        private final FloatBuffer answer;
        private final Workspace workspace;

        Worker(NDManager parent, MultiHeadAttention attention) {
            this.attention = attention;
            manager = parent.newSubManager();
            // The arrays are views of these buffers.
            words = manager.allocateDirect(MAX_WORDS * NUM_HIDDENS * Float.BYTES).asFloatBuffer();
            numWords = manager.allocateDirect(Integer.BYTES).asIntBuffer();
            inputs = new AttentionInputs()
                    .setQueries(manager.wrap(words, new Shape(1, MAX_WORDS, NUM_HIDDENS)))
                    .setValidLens(manager.wrap(numWords, new Shape(1)));
            outputs = attention.createOutputs(inputs);
            answer = outputs.getOutput().toFloatBuffer();
            workspace = manager.newWorkspace(attention.workspaceSize(inputs, outputs));
        }

        /** Returns a view of the answer, which the next call overwrites. */
        FloatBuffer answer(float[] request) {
            words.clear();
            words.put(request);
            numWords.put(0, request.length / NUM_HIDDENS);
            attention.forward(inputs, outputs, workspace);
            return answer;
        }

        @Override
        public void close() {
            manager.close();
        }
    }

    /** Sentences of 1 to MAX_WORDS words, and their answers: all in new arrays, which is the simple way. */
    private static List<Request> requests(NDManager parent, MultiHeadAttention attention) {
        List<Request> requests = new ArrayList<>();
        Random random = new Random(42);
        for (int numWords = 1; numWords <= MAX_WORDS; numWords++) {
            float[] words = new float[numWords * NUM_HIDDENS];
            for (int i = 0; i < words.length; i++) {
                words[i] = random.nextFloat() - 0.5f;
            }
            try (NDManager manager = parent.newSubManager()) {
                NDArray padded = manager.create(
                        Arrays.copyOf(words, MAX_WORDS * NUM_HIDDENS), new Shape(1, MAX_WORDS, NUM_HIDDENS));
                NDList input = new NDList(padded, padded, padded, manager.create(new int[] {numWords}));
                NDArray output = attention.forward(new ParameterStore(manager, false), input, false).singletonOrThrow();
                requests.add(new Request(words, Arrays.copyOf(output.toFloatArray(), words.length)));
            }
        }
        return requests;
    }

    /** A sentence, (words, NUM_HIDDENS), and what a server must answer. */
    private static final class Request {
        final float[] words;
        private final float[] expected;

        Request(float[] words, float[] expected) {
            this.words = words;
            this.expected = expected;
        }

        boolean isAnswer(FloatBuffer answer) {
            for (int i = 0; i < expected.length; i++) {
                if (answer.get(i) != expected[i]) {
                    return false;
                }
            }
            return true;
        }
    }

    private static long allocatedBytes() {
        return THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
    }
}
