from winnow_engine.llama.draft_tree import ROOT, grow


def test_a_tree_grows_where_it_is_worth_most() -> None:
    model = {"": [(1, 0.6, "1"), (2, 0.4, "2")], "1": [(3, 0.5, "13")], "2": [(4, 1.0, "24")], "24": [(5, 0.9, "245")]}
    tree = grow("", lambda state: model.get(state, []), limit=4, least=0.0)
    assert (tree.tokens, tree.parents) == ((1, 2, 4, 5), (ROOT, ROOT, 1, 2))
    assert [round(worth, 2) for worth in tree.worth] == [0.6, 0.4, 0.4, 0.36]


def test_a_tree_stops_at_its_limit_and_at_what_is_worth_too_little() -> None:
    def endless(depth: int) -> list[tuple[int, float, int]]:
        return [(depth, 0.5, depth + 1)]

    assert len(grow(0, endless, limit=3, least=0.0)) == 3
    assert grow(0, endless, limit=9, least=0.2).worth == (0.5, 0.25)
    assert len(grow(0, endless, limit=0, least=0.0)) == 0
