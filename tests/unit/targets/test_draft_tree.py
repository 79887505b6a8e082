from winnow_engine.llama.draft_tree import ROOT, DraftTree, chain, grow

#      0 ── 1 ── 3
# ROOT ┤    └─── 4
#      2
FORK = DraftTree((10, 11, 20, 12, 13), (ROOT, 0, ROOT, 1, 1), (0.9, 0.8, 0.5, 0.4, 0.3))


def test_branches_lead_to_leaves_and_the_first_takes_each_first_child() -> None:
    assert FORK.branches() == [[0, 1], [0, 1], [2], [0], [1]]
    assert chain([1, 2, 3], [1, 1, 1]).branches() == [[0], [0], [0]]
    assert DraftTree().branches() == []


def test_depths_count_from_the_answers_last_token() -> None:
    assert FORK.depths() == [1, 2, 1, 3, 3]


def test_children_are_found_by_parent_and_token() -> None:
    assert [FORK.child(ROOT, 20), FORK.child(1, 13), FORK.child(0, 13), FORK.child(2, 10)] == [2, 4, None, None]


def test_the_beginning_of_a_tree_is_a_tree() -> None:
    assert FORK.first(3) == DraftTree((10, 11, 20), (ROOT, 0, ROOT), (0.9, 0.8, 0.5))


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
