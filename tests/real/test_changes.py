"""Questions about changes as users ask them: a repository with a history, real models, the command and its server."""

import json
from pathlib import Path

import git_repositories as git
import pytest

from .user import User

pytestmark = pytest.mark.real_weights

BASKET = '''"""The basket of a shop."""


def total_price(items):
    """What all items cost together, in cents."""
    return sum(item.price for item in items)


def is_empty(items):
    """Whether there is nothing in the basket."""
    return not items
'''
FILES = {
    "shop/basket.py": BASKET,
    "shop/checkout.py": (
        "from shop.basket import total_price\n\n\n"
        "def checkout(items, account):\n    account.charge(total_price(items))\n    return account\n"
    ),
    "shop/delivery.py": "def delivery_days(country):\n    return 2 if country == 'home' else 9\n",
    "shop/greeting.py": "def greet(name):\n    return f'Hello {name}'\n",
    "tests/test_basket.py": (
        "from shop.basket import total_price\n\n\ndef test_nothing_costs_nothing():\n    assert total_price([]) == 0\n"
    ),
    **{f"shop/page{n}.py": f"def page{n}(request):\n    return render('page{n}', request)\n" for n in range(20)},
}


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository in which a function that is called and tested returns something else since the last commit."""
    top = git.new(tmp_path_factory.mktemp("repository"))
    git.commit(top, "Open the shop", FILES)
    git.write(
        top,
        {
            "shop/basket.py": BASKET.replace(
                "return sum(item.price for item in items)", "return [i.price for i in items]"
            )
        },
    )
    return top


SMALL = ("--drafter", "smollm2-135m", "--target", "smollm2-135m")
MODELS = ("--drafter", "qwen2.5-coder-0.5b", "--target", "qwen2.5-coder-1.5b")


def test_what_could_this_break(user: User, top: Path, qwen_small: Path, qwen_target: Path) -> None:
    done = user.run("ask", "--changes", "What could this break?", "-w", str(top), *MODELS, "--budget", "400", "--json")
    assert done.returncode == 0, done.stderr
    reply = json.loads(done.stdout)
    kept = {(span["path"], span["name"]) for span in reply["spans"]}
    assert {("shop/basket.py", "total_price"), ("shop/checkout.py", "checkout")} <= kept
    assert ("tests/test_basket.py", "test_nothing_costs_nothing") in kept
    assert "checkout" in reply["answer"]
    for citation in reply["citations"]:
        assert not citation["commit"] or citation["commit"] == git.head(top)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--changes=nobody", "Why?"], 2, "no commit is called 'nobody'"),
        (["--changes=staged", "Why?"], 2, "nothing changed"),
    ],
)
def test_what_is_no_change_is_told_before_models_answer(
    user: User, top: Path, arguments: list[str], code: int, says: str
) -> None:
    done = user.run("ask", *arguments, "-w", str(top), "--drafter", "smollm2-135m", "--target", "smollm2-135m")
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_no_repository(user: User, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.py").write_text("A = 1\n")
    smollm2 = ("--drafter", "smollm2-135m")
    done = user.run("spans", "--changes", "Why so?", "-w", str(tmp_path / "plain"), *smollm2)
    assert done.returncode == 4
    assert "lies in no git repository" in done.stderr


def test_the_words_may_be_left_out(user: User, top: Path) -> None:
    done = user.run("spans", "--changes", "-w", str(top), "--drafter", "smollm2-135m", "--budget", "300", "--json")
    assert done.returncode == 0, done.stderr
    assert "total_price" in {span["name"] for span in json.loads(done.stdout)["spans"]}


def test_a_review_stands_at_lines_that_exist(user: User, top: Path, qwen_small: Path, qwen_target: Path) -> None:
    done = user.run("review", "-w", str(top), *MODELS, "--budget", "400", "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert [(file["path"], file["added"], file["removed"]) for file in made["files"]] == [("shop/basket.py", 1, 1)]
    assert ("shop/basket.py", BASKET[: BASKET.index("return sum")].count("\n") + 1) in {
        (finding["path"], finding["start_line"]) for finding in made["findings"]
    }
    for finding in made["findings"]:
        lines = (top / finding["path"]).read_text().splitlines()
        assert 1 <= finding["start_line"] <= finding["end_line"] <= len(lines)
        assert finding["reason"]


def test_a_sound_change_has_hardly_a_finding(user: User, tmp_path: Path, qwen_small: Path, qwen_target: Path) -> None:
    top = git.new(tmp_path / "repository")
    git.commit(top, "Open the shop", FILES)
    git.write(top, {"shop/basket.py": BASKET.replace("sum(item.price for", "sum(item.price * item.count for")})
    done = user.run("review", "-w", str(top), *MODELS, "--budget", "400", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["findings"]) <= 1


def test_a_review_for_ci(user: User, top: Path) -> None:
    done = user.run("review", "-w", str(top), *SMALL, "--set", "maxTokens=40", "--budget", "300", "--sarif")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["version"], len(document["runs"])) == ("2.1.0", 1)


def test_a_commit_message_for_what_is_staged(user: User, tmp_path: Path, qwen_small: Path, qwen_target: Path) -> None:
    top = git.new(tmp_path / "repository")
    git.commit(top, "feat: open the shop", FILES)
    git.commit(top, "fix: count twice", {"shop/delivery.py": "def delivery_days(country):\n    return 3\n"})
    git.write(top, {"shop/greeting.py": "def greet(name, title):\n    return f'Hello {title} {name}'\n"})
    git.git(top, "add", "--all")
    done = user.run("review", "--message", "-w", str(top), *MODELS, "--budget", "600", "--set", "maxTokens=80")
    assert done.returncode == 0, done.stderr
    subject = done.stdout.splitlines()[0]
    assert 5 < len(subject) <= 72
    assert not subject.endswith(".")
    assert "greet" in done.stdout.lower() or "title" in done.stdout.lower()
