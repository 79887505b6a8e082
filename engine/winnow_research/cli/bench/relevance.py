"""`winnow bench relevance`: how often the code a question needs is kept."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import click

from winnow_engine.models.cache import locate
from winnow_engine.storage.store import Store
from winnow_lsp.cli.setting_options import drafter_option
from winnow_lsp.cli.terminal import cancel_on_interrupt
from winnow_research.cli.bench.shared import corpus_options, parse_sizes, say
from winnow_research.cli.bench.tables import tables
from winnow_research.errors import EvaluationError
from winnow_research.evaluation.cache import MOST_BYTES, cache_path
from winnow_research.evaluation.figures import as_json, figures
from winnow_research.evaluation.methods import all_methods
from winnow_research.evaluation.parallel import EvaluationPlan, run
from winnow_research.evaluation.repositories import Split
from winnow_research.evaluation.tasks import all_tasks


@click.command()
@click.option("--task", "names", multiple=True, type=click.Choice(sorted(all_tasks())), help="Only this [all].")
@click.option("--method", "chosen", multiple=True, metavar="NAME", help="Only this way to choose code [all].")
@click.option("--tokens", "sizes", default="32k,128k", show_default=True, callback=parse_sizes, help="Workspace sizes.")
@click.option("--questions", type=click.IntRange(1), default=32, show_default=True, help="At most, a workspace.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes to share the work.")
@click.option(
    "--dump", type=click.Path(path_type=Path), help="Write each case's leading units and features: JSON lines."
)
@corpus_options
@drafter_option
def relevance(
    names: tuple[str, ...],
    chosen: tuple[str, ...],
    sizes: list[int],
    split: str,
    questions: int,
    seed: int,
    jobs: int,
    dump: Path | None,
    as_document: bool,
    drafter: str,
) -> None:
    """How often the code that a question needs is kept, against other ways to choose it.

    Fetches pinned sources of some eighty projects on first use. docs/relevance.md explains every figure.
    """
    file = locate(drafter)
    cache = cache_path()
    plan = EvaluationPlan(file, _methods(file, chosen), Split(split), questions, seed, cache, dump is not None)
    with cancel_on_interrupt() as cancellation:
        results = run(plan, plan.items(names or sorted(all_tasks()), sizes), jobs, say, cancellation)
    with closing(Store(cache)) as store:
        store.trim(MOST_BYTES)
    if dump is not None:
        dump.write_text(
            "".join(f"{json.dumps({'method': one.method, **(one.dump or {})})}\n" for one in results.outcomes)
        )
    found = figures(results.outcomes)
    say("")
    if as_document:
        document = {"split": split, "seed": seed, "drafter": file.name, "absent": results.absent}
        click.echo(json.dumps(document | {"figures": [as_json(figure) for figure in found]}, indent=2))
    else:
        click.echo("\n".join([*tables(found), *(f"{method}: {why}" for method, why in results.absent.items())]))
    for why in dict.fromkeys(results.failed.values()):
        items = [item for item, reason in results.failed.items() if reason == why]
        say(f"\n{', '.join(f'{item.task} {item.tokens:,} {item.repository}' for item in items)}: {why}")
    if results.failed:
        raise EvaluationError(f"{len(results.failed)} workspaces failed: the figures are of the others")


def _methods(drafter: Path, chosen: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the chosen methods, in the order of the tables."""
    names = [method.name for method in all_methods(drafter)]
    unknown = set(chosen) - set(names)
    if unknown:
        raise click.BadParameter(
            f"no method {', '.join(sorted(unknown))}; there are {', '.join(names)}", param_hint="--method"
        )
    return tuple(name for name in names if name in (chosen or names))
