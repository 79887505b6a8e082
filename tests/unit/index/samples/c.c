/* A growing array of bytes. */
#include <stdlib.h>
#include <string.h>

#define INITIAL_CAPACITY 16
#define GROW(n) ((n) * 2)

typedef struct buffer {
    unsigned char *data;
    size_t length;
    size_t capacity;
} buffer;

enum mode {
    MODE_READ,
    MODE_WRITE,
};

static const char *names[] = {"read", "write"};

static int grow(buffer *b);

/* Makes room for n bytes. */
static int
reserve(buffer *b, size_t n)
{
    while (b->capacity < n) {
        if (!grow(b)) {
            return 0;
        }
    }
    return 1;
}

// The name of a mode, never NULL.
const char *mode_name(enum mode mode)
{
    return names[mode];
}
