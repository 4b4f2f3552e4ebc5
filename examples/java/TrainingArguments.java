// SPDX-License-Identifier: Apache-2.0
import java.nio.file.Path;

/** The arguments of train_sequences. */
final class TrainingArguments {
    private static final String USAGE = "usage: train_sequences copy|reverse [PICTURE.svg]"
            + " [--losses FILE.txt] [--steps NUMBER] [--state FOLDER]";

    final String task;
    /** Null: no picture. */
    Path picture;
    /** Null: no list. */
    Path losses;
    /** Null: nothing is kept. */
    Path state;
    /** So many steps the task takes, if there is no other number. */
    int numSteps;
    /** The share of new sequences that is to be right at the end. */
    double leastRight;

    private TrainingArguments(String task) {
        this.task = task;
        boolean copies = task.equals("copy");
        numSteps = copies ? 200 : 400;
        leastRight = copies ? 0.97 : 0.9;
    }

    /** Ends the program if they are others. */
    static TrainingArguments read(String[] args) {
        if (args.length == 0 || !(args[0].equals("copy") || args[0].equals("reverse"))) {
            throw end();
        }
        TrainingArguments read = new TrainingArguments(args[0]);
        int next = 1;
        if (next < args.length && !args[next].startsWith("--")) {
            read.picture = Path.of(args[next++]);
        }
        while (next + 1 < args.length) {
            read.set(args[next], args[next + 1]);
            next += 2;
        }
        if (next < args.length) {
            throw end();
        }
        return read;
    }

    private void set(String option, String value) {
        if (option.equals("--losses")) {
            losses = Path.of(value);
        } else if (option.equals("--state")) {
            state = Path.of(value);
        } else if (option.equals("--steps")) {
            numSteps = Integer.parseInt(value);
            leastRight = 0; // Not the steps of the task.
        } else {
            throw end();
        }
    }

    private static Error end() {
        System.err.println(USAGE);
        System.exit(2);
        return new AssertionError();
    }
}
