from winnow_engine.target.drafts.pace import Pace
from winnow_engine.target.tree import chain


def pace_of(plain: float, slope: float) -> Pace:
    """A pace that has seen rounds of this cost, drafts all right."""
    pace = Pace()
    for nodes in [0, *[4] * 40]:
        pace.learn(nodes, nodes + 1, plain * (1 + slope * nodes), tried=nodes > 0)
    return pace


def sure(worth: float, nodes: int = 8):
    return chain(range(nodes), [worth ** (n + 1) for n in range(nodes)])


def test_the_first_round_of_all_is_plain() -> None:
    pace = Pace()
    assert pace.rests
    pace.learn(0, 1, 0.1, tried=False)
    assert not pace.rests


def test_the_cheaper_a_drafted_token_the_longer_the_draft() -> None:
    sizes = [len(pace_of(0.05, slope).first(sure(0.8))) for slope in (0.0, 0.1, 0.4, 0.9)]
    assert sizes[0] == 8
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 0


def test_only_as_much_of_a_tree_is_drafted_as_gives_most_tokens_a_second() -> None:
    tree = chain([1, 2, 3], [0.9, 0.8, 0.1])
    assert len(pace_of(0.1, 0.3).first(tree)) == 2


def test_a_draft_that_deceives_is_rested_for_longer_each_time_and_tried_again() -> None:
    pace = Pace()
    pace.learn(0, 1, 1.0, tried=False)
    rests, drafted = [], 0
    for _ in range(2000):
        if pace.rests:
            rests[-1] += 1
            pace.learn(0, 1, 1.0, tried=False)
        else:
            if not rests or rests[-1]:
                rests.append(0)
            drafted += 1
            pace.learn(2, 1, 1.4, tried=True)  # never right
    assert rests[:3] == [16, 32, 64]
    assert drafted < 2000 * 0.06


def test_slow_rounds_do_not_end_drafting_for_good() -> None:
    pace = pace_of(0.05, 0.2)
    for _ in range(6):
        pace.learn(4, 5, 1.0, tried=True)
    assert len(pace.first(sure(0.8))) == 0
    for _ in range(600):
        pace.learn(0, 1, 0.05, tried=False)
    assert len(pace.first(sure(0.8))) > 0


def test_a_single_slow_round_changes_little() -> None:
    pace = pace_of(0.05, 0.2)
    before = len(pace.first(sure(0.9)))
    pace.learn(before, 1 + before, 5.0, tried=True)
    assert 0 < len(pace.first(sure(0.9))) <= before


def test_a_first_round_that_was_slow_by_chance_is_found_out() -> None:
    """Drafts that are never right seem free behind a plain round thought to take ten times as long as it does."""
    pace, drafted = Pace(), 0
    pace.learn(0, 1, 1.0, tried=False)
    for _ in range(300):
        nodes = 0 if pace.rests else len(pace.first(sure(0.9)))
        pace.learn(nodes, 1, 0.1 * (1 + 0.6 * nodes), tried=nodes > 0)
        drafted += nodes > 0
    assert drafted < 120
