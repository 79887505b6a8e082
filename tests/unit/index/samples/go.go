// Package ring holds a fixed-size buffer.
package ring

import (
	"errors"
	"sync"
)

// ErrEmpty says that there is nothing to read.
var ErrEmpty = errors.New("ring: empty")

const (
	minSize = 1
	maxSize = 1 << 20
)

// Buffer is safe for concurrent use.
type Buffer[T any] struct {
	mu    sync.Mutex
	items []T
}

// Reader is what a consumer needs.
type Reader interface {
	Read() (byte, error)
}

// New makes an empty buffer.
func New[T any](size int) *Buffer[T] {
	return &Buffer[T]{items: make([]T, 0, size)}
}

// Push appends an item.
func (b *Buffer[T]) Push(item T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items = append(b.items, item)
}

func (b Buffer[T]) Len() int { return len(b.items) }
