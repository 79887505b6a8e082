"""Figures of the relevance evaluation as tables for people."""

from __future__ import annotations

from collections.abc import Iterable

from winnow_engine.core import counted
from winnow_research.evaluation.figures import BUDGETS, Estimate, RelevanceFigure


def tables(found: Iterable[RelevanceFigure]) -> list[str]:
    """A line for each method: percent kept whole within each budget, and how early golds are shown."""
    lines: list[str] = []
    title = ""
    for figure in found:
        size = f"{figure.tokens:,} tokens" if figure.tokens else "whole repositories"
        heading = f"{figure.task}, {size}, {figure.group}: {counted(figure.cases, 'question')}"
        if heading != title:
            title = heading
            columns = "".join(f"{f'{budget:,}':>17}" for budget in BUDGETS)
            lines += ["", heading, f"{'':12}{columns}{'MRR':>17}{'first':>8}{'NDCG@10 of units, files':>25}"]
        lines.append(_line(figure))
        if figure.task in ("feature", "files", "multi", "real"):
            parts = {"of the golds": figure.share, "all files": figure.all_files, "any file": figure.any_file}
            lines += [_part(name, shares) for name, shares in parts.items()]
    return lines


def _line(figure: RelevanceFigure) -> str:
    sure = "" if figure.auroc is None else f"  AUROC {figure.auroc:.3f}"
    mrr = f"{figure.mrr.value:.2f} [{figure.mrr.low:.2f}–{figure.mrr.high:.2f}]"
    return f"{_part(figure.method, figure.kept)}{mrr:>17}{_early(figure)}{sure}"


def _early(figure: RelevanceFigure) -> str:
    units, files = (f"{one.value:.3f}" for one in figure.ndcg)
    return f"{100 * figure.first.value:>8.1f} {units:>7} {files:>7}"


def _part(name: str, shares: Iterable[Estimate]) -> str:
    return f"{name:12}" + "".join(f"{_percent(one):>17}" for one in shares)


def _percent(one: Estimate) -> str:
    return f"{100 * one.value:.0f} [{100 * one.low:.0f}–{100 * one.high:.0f}]"
