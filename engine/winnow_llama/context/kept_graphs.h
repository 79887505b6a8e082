// Members of llama_context. It keeps one graph and builds it anew for a batch of another size, and so does the schedule
// that has its memory. A CUDA graph made of it is lost with it: a pass over 16 tokens and a plain step in turns take 11
// ms where they take 7 alone (1.5B, H100). Here each number of few tokens has a graph and a schedule of its own.

static constexpr uint32_t WINNOW_FEW_TOKENS = 16;

struct winnow_graphs {
    ggml_backend_sched_ptr              schedule;
    std::array<llm_graph_result_ptr, 2> results;
    llm_graph_result *                  active = nullptr;
};

std::map<uint32_t, winnow_graphs> winnow_kept;  // those not in use, 0 for more tokens
uint32_t                          winnow_size = 0;

void winnow_swap(winnow_graphs & other) {
    std::swap(sched, other.schedule);
    std::swap(gf_res_prev, other.results);
    std::swap(gf_res_prev_active, other.active);
}

void winnow_choose_graphs(uint32_t n_tokens) {
    const bool     keeps = backend_ptrs.size() > 1 && !cparams.pipeline_parallel;  // a processor has no such graphs
    const uint32_t size  = keeps && n_tokens <= WINNOW_FEW_TOKENS ? n_tokens : 0;
    if (size == winnow_size) {
        return;
    }
    winnow_swap(winnow_kept[winnow_size]);
    winnow_swap(winnow_kept[size]);
    winnow_kept.erase(size);
    winnow_size = size;
    if (!sched) {
        sched.reset(ggml_backend_sched_new(backend_ptrs.data(), backend_buft.data(), backend_ptrs.size(),
            gf_res_reserve->get_max_nodes(), false, cparams.op_offload));
    }
}

void winnow_forget_graphs() {
    winnow_choose_graphs(WINNOW_FEW_TOKENS + 1);
    winnow_kept.clear();
}
