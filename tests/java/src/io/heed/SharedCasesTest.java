// SPDX-License-Identifier: Apache-2.0
package io.heed;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.junit.jupiter.api.DynamicContainer;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** The cases of tests/bindings/cases, which the tests of C# run, too. */
class SharedCasesTest {
    @TempDir
    Path folder;

    @TestFactory
    Stream<DynamicContainer> cases() {
        return CaseFile.all().stream().map(file -> DynamicContainer.dynamicContainer(
                file.name,
                file.casesFor("java").stream()
                        .map(name -> DynamicTest.dynamicTest(name, () -> run(file, name)))));
    }

    private void run(CaseFile file, String name) throws Exception {
        new CaseRunner(file, Files.createTempDirectory(folder, "case")).run(name);
    }

    /** A file without cases, and what no case uses, would test nothing. */
    @Test
    void everyFileAndEveryWordIsUsed() {
        StringBuilder all = new StringBuilder();
        Set<String> ofScenes = new HashSet<>();
        for (CaseFile file : CaseFile.all()) {
            assertFalse(file.cases.isEmpty(), file.name);
            String text = file.text();
            for (String function : file.functions.keySet()) {
                boolean isOfScene = file.ofScenes.contains(function);
                assertTrue(isOfScene || uses(text, function + "("), () -> file.name + " does not use " + function);
            }
            ofScenes.addAll(file.ofScenes);
            all.append(text);
        }
        for (String function : ofScenes) {
            assertTrue(uses(all, function + "("), () -> "no case uses " + function);
        }
        for (String function : new CaseFunctions(folder).names()) {
            assertTrue(uses(all, function + "("), () -> "no case uses " + function);
        }
        for (String kind : CaseRunner.ERRORS.keySet()) {
            assertTrue(Pattern.compile("\n((java|csharp) )?" + kind + "\\b").matcher(all).find(), () -> "no case uses " + kind);
        }
    }

    private static boolean uses(CharSequence text, String word) {
        return Pattern.compile("(?<![\\w.])" + Pattern.quote(word)).matcher(text).find();
    }

    /** Each line of mistakes.txt, as the only one of a case, fails. */
    @Test
    void mistakesInACaseFail() throws IOException {
        List<String> mistakes = Files.readAllLines(Path.of(System.getProperty("heed.cases")).resolveSibling("mistakes.txt"));
        assertFalse(mistakes.isEmpty());
        for (String line : mistakes) {
            assertThrows(Throwable.class, () -> runLine(line), line);
        }
        Path twice = Files.writeString(folder.resolve("twice.txt"), "case one\n  1 is 1\ncase one\n  1 is 1\n");
        assertThrows(AssertionError.class, () -> new CaseFile(twice));
    }

    @Test
    void aCaseWithoutMistakesPasses() throws Exception {
        runLine("Shape(2).size is 2");
        runLine("illegal \"-1\": manager.zeros(Shape(-1))");
    }

    private void runLine(String line) throws Exception {
        run(new CaseFile(Files.writeString(folder.resolve("line.txt"), "case one\n  " + line + "\n")), "one");
    }
}
