"""Every error a user can meet, by name. Each message says what is wrong and what to do about it."""


class WinnowError(Exception):
    """Base of all errors that are the user's to know about; anything else that escapes is our bug."""


class ModelError(WinnowError):
    """A model is missing, damaged or not supported."""


class ModelNotFoundError(ModelError):
    """No such model in the registry, or its file is not in the cache."""


class ModelDamagedError(ModelError):
    """A model file has the wrong size, the wrong hash, or cannot be parsed."""


class UnsupportedModelError(ModelError):
    """The GGUF is sound, but its architecture is not one Winnow runs."""


class DraftError(ModelError):
    """The draft cannot guess for the target: they do not fit together, or its kind is not run."""


class DownloadError(ModelError):
    """No source could deliver a model file."""


class WorkspaceError(WinnowError):
    """The workspace cannot be read."""


class GitError(WinnowError):
    """git failed or took too long, or the repository cannot show what was asked for."""


class GitMissingError(GitError):
    """There is no git program."""


class NotARepositoryError(GitError):
    """The folder lies in no git repository."""


class UntrustedRepositoryError(GitError):
    """The repository belongs to somebody else, so git does not read it."""


class RevisionError(GitError):
    """A revision or range does not exist in the repository, or is not one."""


class FileChangedError(WorkspaceError):
    """A file has changed between the reading of the workspace and its own; reading the workspace anew helps."""


class NothingChangedError(GitError):
    """Two states that a question is about do not differ."""


class PositionError(WinnowError):
    """A cursor position or selection does not exist in the workspace."""


class PatternError(WinnowError):
    """A regular expression cannot be read."""


class NothingMatchesError(WinnowError):
    """No line of the workspace matches a regular expression."""


class BudgetError(WinnowError):
    """The question, the selection or the budget does not fit the target's context."""


class PromptTooLongError(BudgetError):
    """`messages` messages have `tokens` that may not be cut, and a context of `context` tokens leaves them `most`."""

    def __init__(self, tokens: int, most: int, context: int, messages: int) -> None:
        super().__init__(
            "what must not be cut (system messages, tools, the user's last message, new results, the frame of each "
            f"message) has {tokens:,} tokens in {messages:,} message{'s' * (messages != 1)}: with the answer, too many "
            f"for the target's context of {context:,}; shorten it, or ask for a shorter answer"
        )
        self.tokens, self.most, self.context = tokens, most, context


class TargetError(WinnowError):
    """The target model failed while evaluating or sampling; `said` is what its server said, if it has one."""

    said = b""


class SnapshotError(TargetError):
    """A target's snapshot cannot be written, or is not sound."""


class TargetAddressError(TargetError):
    """The target's URL is malformed, or names a server that may not be asked that way."""


class TargetUnreachableError(TargetError):
    """The target's server cannot be reached."""


class TargetRefusedError(TargetError):
    """The target's server does not accept the key, or wants one; `forbidden` (403): other requests may be accepted."""

    forbidden = False


class TargetTimeoutError(TargetError):
    """The target's server takes too long."""


class TargetProtocolError(TargetError):
    """The target's server sends something that is not OpenAI's API, or only half of it."""


class ThoughtRoomError(TargetError):
    """The target's server turns out to think, and the prompt leaves too little room for that: fit it anew."""


class ProfileError(WinnowError):
    """A drafter profile is malformed or does not belong to the drafter."""


class SharedIndexError(WinnowError):
    """An index that a team shares cannot be read or written, or is not sound."""


class ClusterError(WinnowError):
    """Ray is not installed, or its cluster cannot be used."""


class AgentSetupError(WinnowError):
    """An agent's configuration cannot be changed, and was left as it is."""


class EditError(WinnowError):
    """A change of the code cannot be proposed, or not be applied; the code is as it was."""


class NoCodeError(EditError):
    """The model's answer has no code to put in place of the old."""


class AmbiguousCodeError(EditError):
    """The model's answer has several versions of the code, and nothing says which one it means."""


class CutOffError(EditError):
    """The model's answer is longer than it may be."""


class UnchangedError(EditError):
    """The model gave the code back as it was."""


class NotApplicableError(EditError):
    """There is nothing here that could be changed this way."""


class TextChangedError(EditError):
    """The text has changed since the change was asked for."""


class ReadOnlyError(EditError):
    """The file may not be written."""


class NotJsonError(WinnowError, ValueError):
    """A text that others wrote is not JSON. It may only be `unfinished`: with more text it could be some."""

    def __init__(self, reason: str, unfinished: bool = False) -> None:
        super().__init__(reason)
        self.unfinished = unfinished


class SchemaError(WinnowError):
    """A JSON schema cannot be followed. `field` is where the request has it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class CancelledError(WinnowError):
    """The user cancelled; nothing is wrong and the caches are intact."""
