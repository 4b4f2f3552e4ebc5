// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A {@link KvCache} has no room for the rows of a call. The call has changed nothing. */
public final class CacheFullException extends HeedException {
    private static final long serialVersionUID = 1L;

    private static final Pattern NUMBERS = Pattern.compile("\\b(\\d{1,18}) (?:pages|rows) needed, (\\d{1,18}) free\\b");

    /** The number of pages or rows that the call needed; -1: unknown. */
    private final long needed;

    /** How many of them were free; -1: unknown. */
    private final long free;

    CacheFullException(String sentence) {
        super(Status.CACHE_FULL, sentence);
        Matcher numbers = NUMBERS.matcher(sentence);
        boolean areThere = numbers.find();
        needed = areThere ? Long.parseLong(numbers.group(1)) : -1;
        free = areThere ? Long.parseLong(numbers.group(2)) : -1;
    }

    /**
     * Returns how many pages, or rows of a sequence, the call needed.
     *
     * @return the number in the message; -1 if the message has none
     */
    public long getNeeded() {
        return needed;
    }

    /**
     * Returns how many of these pages or rows were free.
     *
     * @return the number in the message; -1 if the message has none
     */
    public long getFree() {
        return free;
    }
}
