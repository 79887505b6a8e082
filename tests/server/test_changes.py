"""Questions about changes, reviews and commit messages, in a server with real weights."""

from pathlib import Path

import git_repositories as git
import pytest

from .conftest import SETTINGS

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]

REQUEST_FAILED = -32803


@pytest.fixture
def repository(own_folder: Path) -> Path:
    """The project with a commit, after which the fee for delivery changed."""
    git.commit(git.new(own_folder), "Open the shop")
    pricing = own_folder / "shop/pricing.py"
    pricing.write_text(pricing.read_text().replace("HEAVY_FEE_CENTS if heavy else 0", "HEAVY_FEE_CENTS * heavy"))
    return own_folder


async def test_changed_code_comes_first_then_its_users(connect, repository: Path) -> None:
    client = await connect(repository, options=SETTINGS | {"budget": 200})
    spans = (await client.spans("@changes What could this break?"))["spans"]
    assert {"delivery", "Till.pay"} <= {span["name"] for span in spans}
    (changed,) = (span for span in spans if span["name"] == "delivery")
    assert "change" in changed["features"]
    assert (await client.spans("What could this break?", changes="working"))["spans"] == spans


async def test_an_unsaved_document_has_changed(connect, repository: Path) -> None:
    client = await connect(repository)
    checkout = repository / "shop/checkout.py"
    client.open(checkout, checkout.read_text() + "\n\ndef refund(till):\n    return 0\n")
    spans = (await client.spans("Why?", changes="working", budget=400))["spans"]
    assert "refund" in {span["name"] for span in spans}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [("nobody", "RevisionError"), ("--output=x", "RevisionError"), ("staged", "NothingChangedError")],
)
async def test_what_is_no_change_is_told_with_its_name(connect, repository: Path, changes: str, kind: str) -> None:
    client = await connect(repository)
    error = await client.refusal(client.ask("Why?", changes=changes))
    assert (error.code, error.data["kind"]) == (REQUEST_FAILED, kind)


async def test_a_review_is_checked(connect, repository: Path) -> None:
    client = await connect(repository)
    result = await client.run("winnow.review", {"changes": "working"})
    assert [file["path"] for file in result["files"]] == ["shop/pricing.py"]
    for finding in result["findings"]:
        assert finding["location"]["uri"].startswith(repository.as_uri())
    assert await client.run("winnow.review")


async def test_a_commit_message(connect, repository: Path) -> None:
    git.git(repository, "add", "--all")
    client = await connect(repository)
    message = (await client.run("winnow.commitMessage"))["message"]
    assert len(message.partition("\n")[0]) <= 72
    assert (await client.run("winnow.commitMessage", {"repository": repository.as_uri()}))["message"]
    error = await client.refusal(client.run("winnow.commitMessage", {"repository": repository.parent.as_uri()}))
    assert error.data["kind"] == "PositionError"


async def test_when_something_changed_is_answered_from_commits(connect, repository: Path) -> None:
    git.commit(repository, "Charge for heavy parcels only")
    client = await connect(repository)
    result = await client.ask("@when did `delivery` change?")
    assert result["question"] == "did `delivery` change?"
    history = set(git.git(repository, "log", "--format=%H").decode().split())
    assert {one["commit"] for one in result.get("citedBefore", [])} <= history
    asked = await client.ask("", changes="when")
    assert asked["question"].startswith("What changed lately?")


async def test_when_something_changed_needs_a_history(connect, own_folder: Path, monkeypatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(own_folder.parent))
    client = await connect(own_folder)
    error = await client.refusal(client.ask("@when did `delivery` change?"))
    assert (error.code, error.data["kind"]) == (REQUEST_FAILED, "NotARepositoryError")
