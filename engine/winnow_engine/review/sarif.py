"""A review as SARIF 2.1.0 (OASIS), which CI services show at the lines of a pull request."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from winnow_engine.review.findings import Finding
from winnow_engine.review.review import Review
from winnow_engine.review.rules import RULES

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"high": "warning", "medium": "warning", "low": "note"}
_RANKS = {"high": 90.0, "medium": 60.0, "low": 30.0}


def sarif(review: Review, version: str) -> dict[str, Any]:
    """The document, whose tool is this version of Winnow. Paths are relative to `%SRCROOT%`, the workspace."""
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in RULES.items()]
    driver = {"name": "Winnow", "version": version, "rules": rules}
    results = [_result(finding) for finding in review.findings]
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _result(finding: Finding) -> dict[str, Any]:
    region = {"startLine": finding.start_line, "endLine": finding.end_line}
    place = {"artifactLocation": {"uri": quote(finding.path), "uriBaseId": "%SRCROOT%"}, "region": region}
    return {
        "ruleId": finding.rule,
        "ruleIndex": list(RULES).index(finding.rule),
        "level": _LEVELS[finding.confidence],
        "rank": _RANKS[finding.confidence],
        "message": {"text": finding.reason},
        "locations": [{"physicalLocation": place}],
        "properties": {"confidence": finding.confidence},
    }
