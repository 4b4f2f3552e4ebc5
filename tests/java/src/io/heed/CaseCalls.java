// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Calls heed's public members by the names that tests/bindings/cases has for them. What a member throws is the cause of an
 * InvocationTargetException.
 */
final class CaseCalls {
    private static final class Match {
        Executable member;
        CaseArguments arguments;
    }

    private static final Map<String, Optional<Class<?>>> TYPES = new ConcurrentHashMap<>();

    private CaseCalls() {}

    /** A public class of heed, null if none has this name. */
    static Class<?> type(String name) {
        return TYPES.computeIfAbsent(name, CaseCalls::find).orElse(null);
    }

    private static Optional<Class<?>> find(String name) {
        try {
            Class<?> found = Class.forName("io.heed." + name);
            return Modifier.isPublic(found.getModifiers()) ? Optional.of(found) : Optional.empty();
        } catch (ClassNotFoundException error) {
            return Optional.empty();
        }
    }

    /** Calls a method, or reads a property or a field. The target may be a class. */
    static Object call(Object target, String name, List<Object> arguments) throws ReflectiveOperationException {
        boolean isStatic = target instanceof Class;
        Class<?> type = isStatic ? (Class<?>) target : target.getClass();
        if (name.equals("options")) {
            return call(target, "builder", arguments);
        }
        for (String each : new String[] {name, "get" + name, "is" + name}) {
            Match best = new Match();
            for (Method method : type.getMethods()) {
                boolean isNamed = CaseArguments.plain(method.getName()).equals(CaseArguments.plain(each));
                if (isNamed && Modifier.isStatic(method.getModifiers()) == isStatic) {
                    consider(method, arguments, best);
                }
            }
            if (best.member != null) {
                return invoke(best, isStatic ? null : target);
            }
        }
        for (Field field : type.getFields()) {
            if (field.getName().equals(name) && arguments.isEmpty()) {
                return field.get(isStatic ? null : target);
            }
        }
        throw new AssertionError("no " + type.getSimpleName() + "." + name + " for " + arguments);
    }

    /** Sets a property, an option of a builder or a field. A list may stand for several arguments. */
    static void set(Object target, String name, Object value) throws ReflectiveOperationException {
        Match best = new Match();
        for (String each : new String[] {"set" + name, "opt" + name}) {
            for (Method method : target.getClass().getMethods()) {
                if (CaseArguments.plain(method.getName()).equals(CaseArguments.plain(each)) && !method.isBridge()) {
                    consider(method, Arrays.asList(value), best);
                    if (value instanceof List && method.getParameterCount() > 1) {
                        consider(method, new ArrayList<>((List<?>) value), best);
                    }
                }
            }
        }
        if (best.member != null) {
            invoke(best, target);
            return;
        }
        for (Field field : target.getClass().getFields()) {
            if (field.getName().equals(name)) {
                field.set(target, value);
                return;
            }
        }
        throw new AssertionError("no " + target.getClass().getSimpleName() + "." + name + " that takes " + value);
    }

    /** Makes an object: with a builder if there are options, whose build has the other arguments. */
    static Object make(Class<?> type, List<Object> arguments, Map<String, Object> options) throws ReflectiveOperationException {
        boolean hasBuilder = Arrays.stream(type.getMethods()).anyMatch(method -> method.getName().equals("builder"));
        boolean builds = hasBuilder && (!options.isEmpty() || type.getConstructors().length == 0);
        Object made = builds ? call(type, "builder", List.of()) : construct(type, arguments);
        setAll(made, options);
        return builds ? call(made, "build", arguments) : made;
    }

    static void setAll(Object target, Map<String, Object> options) throws ReflectiveOperationException {
        for (Map.Entry<String, Object> option : options.entrySet()) {
            set(target, option.getKey(), option.getValue());
        }
    }

    private static Object construct(Class<?> type, List<Object> arguments) throws ReflectiveOperationException {
        Match best = new Match();
        for (Constructor<?> constructor : type.getConstructors()) {
            consider(constructor, arguments, best);
        }
        if (best.member == null) {
            throw new AssertionError("no " + type.getSimpleName() + " of " + arguments);
        }
        return invoke(best, null);
    }

    private static Object invoke(Match match, Object target) throws ReflectiveOperationException {
        match.member.setAccessible(true);
        return match.member instanceof Method
                ? ((Method) match.member).invoke(target, match.arguments.values)
                : ((Constructor<?>) match.member).newInstance(match.arguments.values);
    }

    private static void consider(Executable member, List<Object> arguments, Match best) {
        Class<?>[] types = member.getParameterTypes();
        if (types.length == arguments.size()) {
            take(member, types, arguments, 0, best);
        }
        int fixed = types.length - 1;
        if (member.isVarArgs() && arguments.size() >= fixed) {
            List<Object> packed = new ArrayList<>(arguments.subList(0, fixed));
            packed.add(new ArrayList<>(arguments.subList(fixed, arguments.size())));
            take(member, types, packed, 1, best);
        }
    }

    private static void take(Executable member, Class<?>[] types, List<Object> arguments, int more, Match best) {
        CaseArguments converted = CaseArguments.convert(arguments, types, more);
        if (converted != null && (best.member == null || converted.cost < best.arguments.cost)) {
            best.member = member;
            best.arguments = converted;
        }
    }
}
