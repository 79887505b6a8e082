package org.example.queue;

import java.util.ArrayDeque;
import java.util.Deque;

/** A bounded queue. */
@ThreadSafe
public final class BoundedQueue<T> {
    private static final int LIMIT = 16;
    private final Deque<T> items = new ArrayDeque<>();

    /** Makes an empty queue. */
    public BoundedQueue() {
        this(LIMIT);
    }

    @Override
    public synchronized boolean offer(T item) {
        return items.size() < LIMIT && items.offer(item);
    }

    public interface Listener<T> {
        void added(T item);
    }

    enum State {
        OPEN,
        CLOSED;

        boolean accepts() {
            return this == OPEN;
        }
    }
}

record Pair(int left, int right) {}
