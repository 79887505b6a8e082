// Members of llama_context, by a patch. A GPU can say which token is the likeliest behind each of a pass's tokens, and then the
// logits need not come to the host: 9.7 MB for 16 tokens of Qwen2.5, of which the host then looks for the largest, 0.05
// ms a token.

bool                 winnow_can_choose = false;  // graphs find the likeliest tokens, too
bool                 winnow_chooses    = false;  // these are given instead of logits
bool                 winnow_has_chosen = false;  // by the last pass
std::vector<int32_t> winnow_chosen;

void winnow_add_choices(llm_graph_result * res, ggml_cgraph * graph) {
    if (winnow_can_choose && graph != nullptr && res->get_logits() != nullptr) {
        ggml_tensor * choices = ggml_argmax(res->get_ctx(), res->get_logits());
        ggml_set_output(choices);
        ggml_build_forward_expand(graph, choices);
    }
}

// Instead of the logits of `count` tokens, which stand behind `first` others. False where these are wanted.
bool winnow_takes_choices(const llm_graph_result * res, int64_t first, int64_t count) {
    ggml_tensor * choices = ggml_graph_node(res->get_gf(), -1);
    winnow_has_chosen     = winnow_chooses && choices->op == GGML_OP_ARGMAX && choices->src[0] == res->get_logits();
    if (winnow_has_chosen) {
        winnow_chosen.resize(std::max<size_t>(winnow_chosen.size(), first + count));  // a copy may be under way
        ggml_backend_t backend = ggml_backend_sched_get_tensor_backend(sched.get(), choices);
        ggml_backend_tensor_get_async(backend, choices, winnow_chosen.data() + first, 0, count * sizeof(int32_t));
    }
    return winnow_has_chosen;
}
