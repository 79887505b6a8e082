"""Where files lie below a root."""

from pathlib import Path

from winnow_lsp.host.roots import below


def test_a_file_is_below_a_root_by_name_or_with_links_resolved(tmp_path: Path) -> None:
    root, link, circle = tmp_path / "root", tmp_path / "link", tmp_path / "circle"
    root.mkdir()
    link.symlink_to(root)
    circle.symlink_to(circle)
    (root / "circle").symlink_to(circle)
    assert below(root / "a.py", root) == Path("a.py")
    assert below(link / "a.py", root) == Path("a.py")
    assert below(tmp_path / "a.py", root) is None
    assert below(link, root) == Path()
    assert below(root / "circle", root) == Path("circle")
    assert below(circle / "a.py", root) is None
    assert below(root / "circle", link) is None
