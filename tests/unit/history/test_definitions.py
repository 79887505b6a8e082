"""Names of changed units from patches, without reading a file."""

import pytest

from winnow_engine.history.definitions import changed_names

COMMIT = "a" * 40


def names(patch: str) -> tuple[list[str], list[str], list[str]]:
    ((commit, found),) = changed_names(f"{COMMIT}\n{patch}".encode())
    assert commit == COMMIT
    return list(found.touched), found.added, found.removed


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("def wait(self, bus: Bus) -> None:", "wait"),
        ("async def wait(self):", "wait"),
        ("class Bus(Base):", "Bus"),
        ("static int uv__read(uv_stream_t* stream,", "uv__read"),
        ("void Bus::wait(int n) const {", "wait"),
        ("impl<T> Bus<T> {", "Bus"),
        ("pub(crate) fn wait<T>(bus: T) -> u8 {", "wait"),
        ("func (b *Bus) Wait(n int) error {", "Wait"),
        ("public static List<String> stopsOf(Bus bus) {", "stopsOf"),
        ("export default async function* wait(bus) {", "wait"),
        ("waitFor(bus: Bus): void {", "waitFor"),
        ("  next() {", "next"),
        ("module Coach", "Coach"),
    ],
)
def test_the_unit_around_a_change(header: str, name: str) -> None:
    assert names(f"@@ -3 +3 @@ {header}\n-    a\n+    b\n") == ([name], [], [])


def test_definitions_that_come_and_go_and_those_that_only_changed() -> None:
    patch = (
        "@@ -3,2 +3,3 @@ class Bus:\n-    def old(self):\n-        pass\n+    def new(self):\n+        old()\n"
        "@@ -9 +10 @@ class Bus:\n-    def kept(self):\n+    def kept(self, n):\n"
    )
    touched, added, removed = names(patch)
    assert (sorted(touched), added, removed) == (["kept", "new", "old"], ["new"], ["old"])


def test_the_unit_before_one_that_was_added_has_not_changed() -> None:
    assert names("@@ -9,0 +10,4 @@ def before():\n+\n+@cached\n+def after():\n+    pass\n") == (
        ["after"],
        ["after"],
        [],
    )
    touched, _, _ = names("@@ -9,0 +10,4 @@ def before():\n+    end()\n+\n+def after():\n+    pass\n")
    assert touched == ["after", "before"]


def test_values_at_the_top_are_names_and_comparisons_and_calls_are_not() -> None:
    patch = "@@ -1,0 +1,5 @@\n+LIMIT: int = 3\n+#define MOST 4\n+export const last = 5\n+a == b\n+print(x)\n"
    assert names(patch) == (["LIMIT", "MOST", "last"], ["LIMIT", "MOST", "last"], [])


def test_commits_are_told_apart_whatever_their_lines_say() -> None:
    other = "b" * 40
    patch = f"{COMMIT}\n@@ -1 +1 @@\n+def a():\n+{other}\n{other}\n@@ -1 +1 @@ def b():\n-x\n{'c' * 64}\n"
    found = dict(changed_names(patch.encode() + b"@@ -1 +1 @@ def \xff():\n-\xff\n"))
    assert {commit: list(one.touched) for commit, one in found.items()} == {
        COMMIT: ["a"],
        other: ["b"],
        "c" * 64: [],
    }


def test_a_commit_has_so_many_names_at_most() -> None:
    touched, added, _ = names("@@ -0,0 +1 @@\n" + "".join(f"+def f{n}():\n" for n in range(3000)))
    assert (len(touched), len(added)) == (2000, 2000)
