"""What a small but realistic file of each language is cut into."""

from __future__ import annotations

from pathlib import Path

import pytest

from winnow_engine.core import Unit
from winnow_engine.index import languages
from winnow_engine.index.symbols import analyse

SAMPLES = Path(__file__).parent / "samples"

# A row is: kind, name (- for none), first and last line.
EXPECTED = {
    "bash.sh": """
        top_level - 1-3
        imports - 4-6
        top_level - 7-8
        function log 9-13
        function retry 14-21
        top_level - 22-23
    """,
    "c.c": """
        imports - 1-4
        top_level - 5-7
        class_header buffer 8-13
        class_header mode 14-18
        top_level - 19-22
        function reserve 23-34
        function mode_name 35-39
    """,
    "cpp.cpp": """
        imports - 1-5
        top_level - 6-7
        function split 8-16
        class_header Lexer 17-18
        method Lexer.Lexer 19-19
        method Lexer.~Lexer 20-21
        method Lexer.operator== 22-31
        method Lexer.next 32-35
        class_header Point 36-41
        function main 42-45
    """,
    "csharp.cs": """
        imports - 1-3
        top_level - 4-5
        class_header WordCounter 6-13
        method WordCounter.WordCounter 14-18
        method WordCounter.Add 19-26
        class_header ISource 27-31
        class_header Entry 32-33
    """,
    "go.go": """
        top_level - 1-3
        imports - 4-8
        top_level - 9-16
        class_header Buffer 17-22
        class_header Reader 23-27
        function New 28-32
        method Buffer.Push 33-39
        method Buffer.Len 40-40
    """,
    "java.java": """
        imports - 1-5
        class_header BoundedQueue 6-11
        method BoundedQueue.BoundedQueue 12-16
        method BoundedQueue.offer 17-21
        class_header BoundedQueue.Listener 22-25
        class_header BoundedQueue.State 26-29
        method BoundedQueue.State.accepts 30-35
        class_header Pair 36-36
    """,
    "javascript.js": """
        top_level - 1-2
        imports - 3-5
        top_level - 6-8
        function readOnce 9-18
        function evict 19-22
        class_header Store 23-26
        method Store.constructor 27-31
        method Store.size 32-37
        function Store.prototype.clear 38-41
        function main 42-45
        top_level - 46-46
    """,
    "json.json": """
        top_level - 1-7
    """,
    "jsx.jsx": """
        imports - 1-2
        function Button 3-6
        class_header Panel 7-9
        method Panel.render 10-17
    """,
    "kotlin.kt": """
        imports - 1-5
        top_level - 6-7
        class_header Node 8-10
        class_header Graph 11-14
        method Graph.connect 15-18
        method Graph.degree 19-21
        class_header Graph.companion 22-22
        method Graph.companion.empty 23-28
        class_header Visitor 29-32
        class_header Registry 33-36
        function isEmpty 37-39
    """,
    "lua.lua": """
        imports - 1-3
        top_level - 4-8
        function Stack.new 9-13
        method Stack.push 14-19
        function dump 20-23
        function Stack.peek 24-27
        top_level - 28-28
    """,
    "markdown.md": """
        top_level - 1-2
        section Guide 3-6
        section Install 7-13
        section Use `run` 14-17
        section Options 18-22
        section Appendix 23-26
    """,
    "php.php": """
        top_level - 1-4
        imports - 5-9
        top_level - 10-11
        class_header Mailer 12-18
        method Mailer.__construct 19-22
        method Mailer.flush 23-33
        class_header Sender 34-38
        class_header Retries 39-43
        function send_later 44-48
        top_level - 49-49
    """,
    "python.py": """
        top_level - 1-2
        imports - 3-7
        top_level - 8-11
        class_header LimitExceeded 12-15
        class_header TokenBucket 16-21
        method TokenBucket.__init__ 22-25
        method TokenBucket.level 26-30
        class_header TokenBucket.Lease 31-33
        method TokenBucket.Lease.release 34-37
        function wait_for 38-46
        function drain 47-51
        top_level - 52-53
    """,
    "ruby.rb": """
        imports - 1-5
        class_header Billing 6-8
        class_header Billing.Line 9-12
        method Billing.Line.initialize 13-16
        method Billing.Line.gross 17-21
        method Billing.Line.parse 22-25
        method Billing.Line.round 26-33
        function total 34-37
        top_level - 38-38
    """,
    "rust.rs": """
        imports - 1-5
        top_level - 6-7
        class_header Interval 8-14
        class_header Side 15-19
        class_header Cover 20-24
        method Cover.width 25-30
        class_header Interval 31-31
        method Interval.new 32-37
        method Interval.join 38-42
        class_header Interval 43-43
        method Interval.fmt 44-48
        function interval 49-54
        top_level - 55-56
        imports - 57-58
        function joins 59-63
    """,
    "scala.scala": """
        imports - 1-5
        class_header Mean 6-9
        method Mean.add 10-13
        method Mean.value 14-18
        class_header Summary 19-22
        class_header Mean 23-25
        method Mean.of 26-32
        class_header Sample 33-33
    """,
    "swift.swift": """
        imports - 1-3
        top_level - 4-5
        class_header Client 6-11
        method Client.init 12-16
        method Client.fetch 17-23
        method Client.deinit 24-28
        class_header Page 29-32
        class_header Fetching 33-36
        class_header Client 37-37
        method Client.reset 38-42
        function makeClient 43-45
    """,
    "text.rst": """
        block - 1-6
    """,
    "toml.toml": """
        top_level - 1-10
    """,
    "tsx.tsx": """
        imports - 1-2
        class_header Props 3-7
        function List 8-16
        function useTitle 17-21
    """,
    "typescript.ts": """
        imports - 1-3
        top_level - 4-5
        class_header Route 6-11
        class_header Method 12-16
        class_header Router 17-19
        method Router.constructor 20-21
        method Router.dispatch 22-27
        method Router.Symbol.iterator 28-34
        top_level - 35-35
        function normalise 36-40
        function load 41-43
    """,
    "yaml.yaml": """
        top_level - 1-9
    """,
}


def row(unit: Unit) -> str:
    return f"{unit.kind} {unit.name or '-'} {unit.start_line}-{unit.end_line}"


@pytest.mark.parametrize("sample", sorted(EXPECTED))
def test_a_sample_is_cut_into_its_units(sample: str) -> None:
    units = analyse(sample, (SAMPLES / sample).read_bytes()).units
    assert [row(unit) for unit in units] == [line.strip() for line in EXPECTED[sample].strip().splitlines()]


@pytest.mark.parametrize("line_end", [b"\r\n", b"\r"])
@pytest.mark.parametrize("sample", sorted(EXPECTED))
def test_line_ends_do_not_change_units_or_symbols(sample: str, line_end: bytes) -> None:
    with_lf = (SAMPLES / sample).read_bytes()
    expected, found = analyse(sample, with_lf), analyse(sample, with_lf.replace(b"\n", line_end))
    assert [row(unit) for unit in found.units] == [row(unit) for unit in expected.units]
    assert found.symbols == expected.symbols


def test_methods_stand_under_their_class() -> None:
    units = analyse("python.py", (SAMPLES / "python.py").read_bytes()).units
    parents = {unit.name: units[unit.parent].name for unit in units if unit.parent is not None}
    assert parents == {
        "TokenBucket.__init__": "TokenBucket",
        "TokenBucket.level": "TokenBucket",
        "TokenBucket.Lease": "TokenBucket",
        "TokenBucket.Lease.release": "TokenBucket.Lease",
    }


def test_a_subsection_stands_under_its_section() -> None:
    units = analyse("markdown.md", (SAMPLES / "markdown.md").read_bytes()).units
    parents = [(unit.name, units[unit.parent].name) for unit in units if unit.parent is not None]
    assert parents == [
        ("Install", "Guide"),
        ("Use `run`", "Guide"),
        ("Options", "Use `run`"),
        ("Appendix", "Guide"),
    ]


def test_every_language_has_a_sample() -> None:
    sampled = {languages.for_path(sample) for sample in EXPECTED}
    assert set(languages.all_languages()) <= sampled
