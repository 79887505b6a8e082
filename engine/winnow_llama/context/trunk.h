// A part of llama-kv-cache-iswa.cpp. What stands before the trunk's end in sequence 0 is seen by all other sequences.
// Otherwise each branch of a draft has to be made a copy of all that stands before it, cell by cell, and be taken out
// of these cells again: 2 ms for 16 guesses behind 2,000 tokens, as long as it takes a GPU to verify them (1.5B, H100).

extern "C" LLAMA_API bool winnow_set_trunk(llama_memory_t memory, llama_pos end);

// False where memory is of a kind that knows no trunk, and does not see it.
bool winnow_set_trunk(llama_memory_t memory, llama_pos end) {
    if (auto * cache = dynamic_cast<llama_kv_cache *>(memory)) {
        cache->winnow_trunk = end;
        return true;
    }
    if (auto * cache = dynamic_cast<llama_kv_cache_iswa *>(memory)) {
        cache->get_base()->winnow_trunk = cache->get_swa()->winnow_trunk = end;
        return true;
    }
    return false;
}
