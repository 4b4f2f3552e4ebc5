// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** The functions that cases have beside those of heed. */
final class CaseFunctions {
    private interface Function {
        Object call(List<Object> arguments) throws Exception;
    }

    private final Map<String, Function> functions = new TreeMap<>();

    CaseFunctions(Path folder) {
        functions.put("floats", CaseFunctions::floats);
        functions.put("ints", all -> numbers(all).mapToInt(Number::intValue).toArray());
        functions.put("longs", all -> numbers(all).mapToLong(Number::longValue).toArray());
        functions.put("bools", CaseFunctions::bools);
        functions.put("float", all -> number(all, 0).floatValue());
        functions.put("none", all -> new CaseArguments.Null((String) all.get(0)));
        functions.put("ulp", all -> Math.ulp(number(all, 0).floatValue()));
        functions.put("max", all -> Math.max(number(all, 0).longValue(), number(all, 1).longValue()));
        functions.put("total", all -> numbers(all).mapToDouble(Number::doubleValue).sum());
        functions.put("largest", all -> numbers(all).mapToDouble(each -> Math.abs(each.doubleValue())).max().getAsDouble());
        functions.put("log", all -> Math.log(number(all, 0).doubleValue()));
        functions.put("exp", all -> Math.exp(number(all, 0).doubleValue()));
        functions.put("text", all -> all.get(0).toString());
        functions.put("count", all -> (long) CaseComparison.list(all.get(0)).size());
        functions.put("file", all -> folder.resolve((String) all.get(0)).toString());
        functions.put("golden", all -> TestFiles.golden((String) all.get(0)).toString());
        functions.put("data", all -> TestFiles.data((String) all.get(0)).toString());
        functions.put("bytes", CaseFunctions::bytes);
        functions.put("store", all -> Files.write(Paths.get((String) all.get(0)), bytesOf(all.get(1))));
        functions.put("place", all -> (long) latin1((byte[]) all.get(0)).indexOf((String) all.get(1)));
        functions.put("changed", CaseFunctions::changed);
        functions.put("joined", CaseFunctions::joined);
        functions.put("filled", all -> Collections.nCopies(number(all, 1).intValue(), all.get(0)));
        functions.put("setElement", CaseFunctions::setElement);
        functions.put("choose", all -> all.get((Boolean) all.get(0) ? 1 : 2));
        functions.put("plus", CaseFunctions::plus);
        functions.put("not", all -> !(Boolean) all.get(0));
        functions.put("onDevice", all -> all.get(TestDevice.DEVICE.isCpu() ? 0 : 1));
        functions.put("characters", all -> latin1(Files.readAllBytes(Paths.get((String) all.get(0)))));
        functions.put("part", CaseFunctions::part);
        functions.put("has", all -> CaseComparison.list(all.get(0)).contains(all.get(1)));
        functions.put("range", all -> LongStream.range(0, number(all, 0).longValue()).boxed().collect(Collectors.toList()));
        functions.put("reading", all -> new FileInputStream((String) all.get(0)));
        functions.put("writing", all -> new FileOutputStream((String) all.get(0)));
        functions.put("delete", all -> Files.deleteIfExists(Paths.get((String) all.get(0))));
        functions.put("exists", all -> Files.exists(Paths.get((String) all.get(0))));
        functions.put("contents", all -> Files.readAllBytes(Paths.get((String) all.get(0))));
        functions.put("firstBytes", all -> Arrays.copyOf((byte[]) all.get(0), number(all, 1).intValue()));
        functions.put("loadBytes", CaseFunctions::loadBytes);
        functions.put("cacheFull", all -> new CacheFullException((String) all.get(0)));
        functions.put("below", all -> number(all, 0).doubleValue() < number(all, 1).doubleValue());
        functions.put("write", CaseFunctions::write);
        functions.put("at", all -> called(() -> ((NDArray) all.get(0)).get(index(all, 2))));
        functions.put("put", CaseFunctions::put);
    }

    Iterable<String> names() {
        return functions.keySet();
    }

    Object call(String name, List<Object> arguments) throws Exception {
        Function function = functions.get(name);
        if (function == null) {
            throw new AssertionError("no function has the name " + name);
        }
        return function.call(arguments);
    }

    private static Number number(List<Object> arguments, int index) {
        return (Number) arguments.get(index);
    }

    /** The arguments, or the elements of the only one. */
    private static Stream<Number> numbers(List<Object> arguments) {
        boolean isList = arguments.size() == 1 && CaseComparison.isList(arguments.get(0));
        return (isList ? CaseComparison.list(arguments.get(0)) : arguments).stream().map(Number.class::cast);
    }

    private static Object floats(List<Object> arguments) {
        List<Number> numbers = numbers(arguments).collect(Collectors.toList());
        float[] floats = new float[numbers.size()];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = numbers.get(i).floatValue();
        }
        return floats;
    }

    private static Object bytes(List<Object> arguments) {
        List<Number> numbers = numbers(arguments).collect(Collectors.toList());
        byte[] bytes = new byte[numbers.size()];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = numbers.get(i).byteValue();
        }
        return bytes;
    }

    /** Those of a text, of an array or of one number. */
    private static byte[] bytesOf(Object value) {
        return value instanceof byte[] ? (byte[]) value
                : value instanceof String ? ((String) value).getBytes(StandardCharsets.UTF_8)
                : new byte[] {((Number) value).byteValue()};
    }

    private static String latin1(byte[] bytes) {
        return new String(bytes, StandardCharsets.ISO_8859_1);
    }

    /** Bytes with others from some place on. */
    private static Object changed(List<Object> arguments) {
        byte[] changed = ((byte[]) arguments.get(0)).clone();
        byte[] put = bytesOf(arguments.get(2));
        System.arraycopy(put, 0, changed, number(arguments, 1).intValue(), put.length);
        return changed;
    }

    private static Object bools(List<Object> arguments) {
        List<Object> all = CaseComparison.list(arguments.get(0));
        boolean[] bools = new boolean[all.size()];
        for (int i = 0; i < bools.length; i++) {
            bools[i] = (Boolean) all.get(i);
        }
        return bools;
    }

    /** The elements of lists, or of the lists in a list, one after another. */
    private static Object joined(List<Object> arguments) {
        return (arguments.size() == 1 ? CaseComparison.list(arguments.get(0)) : arguments)
                .stream().flatMap(each -> CaseComparison.list(each).stream()).collect(Collectors.toList());
    }

    private static Object setElement(List<Object> arguments) {
        boolean isWhole = arguments.get(0) instanceof long[];
        Array.set(
                arguments.get(0), number(arguments, 1).intValue(),
                isWhole ? (Object) number(arguments, 2).longValue() : number(arguments, 2).floatValue());
        return null;
    }

    /** What a call returns; what it throws is thrown as by a member. */
    private static Object called(Supplier<Object> call) throws InvocationTargetException {
        try {
            return call.get();
        } catch (RuntimeException error) {
            throw new InvocationTargetException(error);
        }
    }

    /** Sets a part of an array, by its indices, to an array or a number. */
    /** The index of a call: its text, and the arguments from one on. */
    private static NDIndex index(List<Object> arguments, int first) {
        return new NDIndex((String) arguments.get(1), arguments.subList(first, arguments.size()).toArray());
    }

    private static Object put(List<Object> arguments) throws InvocationTargetException {
        NDArray array = (NDArray) arguments.get(0);
        Object value = arguments.get(2);
        return called(() -> {
            NDIndex index = index(arguments, 3);
            if (value instanceof Number) {
                array.set(index, (Number) value);
            } else {
                array.set(index, (NDArray) value);
            }
            return null;
        });
    }

    /** A call that C# cannot make by name, as its bytes are a span. */
    private static Object loadBytes(List<Object> arguments) throws InvocationTargetException {
        return called(() -> {
            ((KvCache) arguments.get(0)).load(number(arguments, 1).longValue(), (byte[]) arguments.get(2));
            return null;
        });
    }

    /** The sums of the elements of two arrays. */
    private static Object plus(List<Object> arguments) {
        NDArray left = (NDArray) arguments.get(0);
        float[] sums = left.toFloatArray();
        float[] summands = ((NDArray) arguments.get(1)).toFloatArray();
        for (int i = 0; i < sums.length; i++) {
            sums[i] += summands[i];
        }
        return left.getManager().create(sums, left.getShape());
    }

    /** Some elements of a list: their first index and their number. */
    private static Object part(List<Object> arguments) {
        int first = number(arguments, 1).intValue();
        return CaseComparison.list(arguments.get(0)).subList(first, first + number(arguments, 2).intValue());
    }

    /** A .safetensors file of this header and these bytes. */
    private static Object write(List<Object> arguments) {
        byte[] bytes = (byte[]) bytes(arguments.subList(2, arguments.size()));
        return TestFiles.write(Paths.get((String) arguments.get(0)), (String) arguments.get(1), bytes).toString();
    }
}
