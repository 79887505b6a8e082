"""Which unit defines a name, and which units use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from winnow_engine.index.symbols import FileAnalysis, analyse

SAMPLES = Path(__file__).parent / "samples"


def analysis_of(sample: str) -> FileAnalysis:
    return analyse(sample, (SAMPLES / sample).read_bytes())


def units_of(analysis: FileAnalysis, pairs: tuple[tuple[str, int], ...], name: str) -> list[str]:
    return [analysis.units[unit].name for found, unit in pairs if found == name]


@pytest.mark.parametrize(
    ("sample", "name", "unit"),
    [
        ("python.py", "TokenBucket", "TokenBucket"),
        ("python.py", "release", "TokenBucket.Lease.release"),
        ("python.py", "DEFAULT_RATE", ""),
        ("python.py", "missing", "wait_for"),
        ("javascript.js", "evict", "evict"),
        ("javascript.js", "CACHE_LIMIT", ""),
        ("javascript.js", "Widget", ""),
        ("typescript.ts", "Handler", ""),
        ("go.go", "Push", "Buffer.Push"),
        ("go.go", "maxSize", ""),
        ("rust.rs", "EMPTY", ""),
        ("c.c", "GROW", ""),
        ("cpp.cpp", "next", "Lexer.next"),
        ("java.java", "LIMIT", "BoundedQueue"),
        ("csharp.cs", "Total", "WordCounter"),
        ("ruby.rb", "RATE", "Billing"),
        ("php.php", "RETRIES", ""),
        ("kotlin.kt", "INFINITY", ""),
        ("swift.swift", "defaultTimeout", ""),
        ("scala.scala", "Zero", "Mean"),
        ("lua.lua", "push", "Stack.push"),
        ("bash.sh", "RETRIES", ""),
        ("haskell.hs", "Name", ""),
        ("dart.dart", "zero", "Counter.zero"),
        ("r.R", "add", "Queue.add"),
        ("julia.jl", "show", "Shapes.Base.show"),
        ("elm.elm", "Decrement", "Msg"),
        ("html.html", "intro", "Guide"),
        ("component.vue", "reset", "reset"),
    ],
)
def test_a_name_is_defined_by_its_unit(sample: str, name: str, unit: str) -> None:
    analysis = analysis_of(sample)
    assert units_of(analysis, analysis.symbols.definitions, name) == [unit]


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.go", "package a\n\nvar (\n\tErrA = f()\n\tb, c int\n)\n", "ErrA b c"),
        ("bin/a", "#!/bin/sh\nretry() {\n  f\n}\n", "retry"),
        (
            "a.c",
            "#ifndef A\nenum { ONE, TWO = 2 };\ntypedef int (*call)(void *);\nint size;\n#endif\n",
            "ONE TWO call size",
        ),
        (
            "a.c",
            "static char *a[] = {0}, *b = 0, c[9], d;\nextern int f(int e);\nint main() { int g; }\n",
            "a b c d main",
        ),
        ("a.h", "namespace n {\nenum class A { b };\nconstexpr int c[] = {1};\n}\n", "A b c"),
        ("a.rb", "class A\n  attr_reader :b, :c\n  alias d b\n  alias_method :e, :b\n  f :g\nend\n", "A b c d e"),
        ("a.lua", "M.a = 1\nb = { c = 2 }\n", "a b"),
        ("a.py", "try:\n    A = 1\nexcept E:\n    A = B = 2\nif A:\n    c = 3\n    def d():\n        e = 4\n", "A c d"),
        ("a.scala", "val a = 1\nenum B { case C, D; case E(f: Int) }\n", "a B C D E"),
        ("a.swift", "typealias A = Int\n", "A"),
        ("a.cmake", 'option(A "b" ON)\nset(c 1)\n', "A"),
        ("a.hs", "pattern A = 1\npattern B x y <- (x, y)\npattern C{d} = d\n", "A B C"),
        ("a.php", "<?php\ndefine('A', 1);\nif (!defined('B')) { \\define(\"B\", 2); }\nf('c', \"d\");\n", "A B"),
        ("a.jl", "const A, B = 1, 2\nc::Int = 3\nmodule D\ne = 4\nend\nf.g = 5\n", "A B c D e"),
        ("a.d.ts", "declare function a(): void;\ndeclare const b: number;\nnamespace c {}\n", "a b c"),
    ],
)
def test_every_name_that_is_declared_is_defined(path: str, text: str, names: str) -> None:
    assert [name for name, _ in analyse(path, text.encode()).symbols.definitions] == names.split()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("MYLIB_API std::shared_ptr<int> next(int a) {}", "next"),
        ("static FORCE_INLINE uint32_t next ( uint32_t a ) {}", "next"),
        ("MYLIB_INLINE Widget::Widget(int a) : a_(a) {}", "Widget.Widget"),
        ("void MYLIB_INLINE Widget::draw(int a) {}", "Widget.draw"),
        ("int MYCALL next(void) {}", "next"),
        ("level::kind next(int a) MYLIB_NOEXCEPT {}", "next"),
        ("void Widget::draw() const LOCKS_REQUIRED(mutex_)\n{}", "Widget.draw"),
        ("static BOOL next(int a) {}", "next"),
        ("MY_TYPE next(int a) {}", "next"),
        ("MY_TYPE Widget::draw(int a) {}", "Widget.draw"),
        ("struct POINT next(int a) {}", "next"),
        ("static enum STATUS next(int a) {}", "next"),
        ("newtype MYCALL next(int a) {}", "next"),
    ],
)
def test_macros_do_not_hide_functions(text: str, name: str) -> None:
    assert [unit.name for unit in analyse("a.cpp", f"{text}\n".encode()).units] == [name]


@pytest.mark.parametrize(
    ("sample", "name", "unit"),
    [
        ("python.py", "TokenBucket", "drain"),
        ("javascript.js", "CACHE_LIMIT", "Store.constructor"),
        ("typescript.ts", "Handler", "Route"),
        ("go.go", "Buffer", "New"),
        ("rust.rs", "EMPTY", "joins"),
        ("c.c", "names", "mode_name"),
        ("cpp.cpp", "Lexer", "main"),
        ("java.java", "items", "BoundedQueue.offer"),
        ("csharp.cs", "Total", "WordCounter.Add"),
        ("ruby.rb", "RATE", "Billing.Line.gross"),
        ("php.php", "Mailer", "send_later"),
        ("kotlin.kt", "INFINITY", "isEmpty"),
        ("swift.swift", "defaultTimeout", "Client.init"),
        ("scala.scala", "Zero", "Mean.of"),
        ("lua.lua", "LIMIT", "Stack.push"),
        ("bash.sh", "RETRIES", "retry"),
        ("elixir.ex", "Price", "Shop.Cart.total"),
        ("haskell.hs", "push", "Container.Queue.insert"),
        ("perl.pm", "sum", "total"),
        ("zig.zig", "List", "main"),
        ("Dockerfile", "alpine", "alpine"),
    ],
)
def test_a_name_is_referred_to_by_the_unit_that_uses_it(sample: str, name: str, unit: str) -> None:
    analysis = analysis_of(sample)
    assert unit in units_of(analysis, analysis.symbols.references, name)


def test_dots_alone_are_a_name() -> None:
    assert analyse("a.R", b".load(....)\n").symbols.references == (("....", 0), ("load", 0))


def test_a_name_as_long_as_its_file_is_read_in_linear_time() -> None:
    name = "a" * 1_000_000
    assert analyse("a.ex", name.encode()).symbols.references == ((name, 0),)  # would not end


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("class MYLIB_API Widget : public Base {", "Widget"),
        ("class MYLIB_API EXPORT_IF(X) Widget final\n{", "Widget"),
        ("        ROUND(x, y)\n" * 20 + "class MYLIB_API Widget {", "Widget"),
        ("struct my_export Widget\n    : public Base\n    , Other {", "Widget"),
        ("template <typename T>\nclass [[nodiscard]] MYLIB_API Widget<T*> : Base<T> {", "Widget<T*>"),
        ("class alignas(16) MYLIB_API Outer::Widget {", "Outer.Widget"),
        ("UCLASS()\nclass GAME_API Widget : public AActor\n{\n    GENERATED_BODY()\npublic:", "Widget"),
        ("class Widget : public Q\n{\n    Q_OBJECT\n    Q_PROPERTY(int w READ w)\npublic Q_SLOTS:", "Widget"),
        ("class Widget : public Q {\n    Q_GADGET\nsignals:\n    void changed();\nprivate slots:", "Widget"),
        ("FMT_BEGIN_NAMESPACE\nclass Widget {", "Widget"),
        ("class Widget final : public Base {", "Widget"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_macros_do_not_hide_classes(head: str, name: str, end: str) -> None:
    text = f"{head}\n    void draw(Canvas& canvas) override {{ canvas.box(); }}\n}};\n".replace("\n", end)
    units = analyse("widget.h", text.encode()).units
    assert [unit.name for unit in units if unit.name] == [name, f"{name}.draw"]
    assert units[-1].end_byte == len(text)
