"""Keys of files that were just edited, before these are encoded anew. They stay in memory and are never stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from winnow_engine.core import Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.file_encoder import FileText
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.chunks import PlannedFile, path_key
from winnow_engine.keys.edits import Edit, LastVersion
from winnow_engine.keys.key_lookup import locate
from winnow_engine.keys.key_parts import Parts, keys_of, keys_of_record, parts_of, whole_file
from winnow_engine.keys.workspace_keys import TOKENS_PER_BYTE, WorkspaceKeys
from winnow_engine.runtime import Gate
from winnow_engine.storage.store import Store

_AT_ONCE_S = 0.4  # in which missing keys are made for good
_MOST_S = 3.0
_MOST_SHARE = 0.5  # of what is missing, that may be encoded for provisional keys


class ProvisionalKeys:
    """Provisional keys of the workspace asked for last. Safe to use from several threads.

    `namespace` has the keys of files by content, `versions` what is known of the last version of each, by path.
    """

    def __init__(self, store: Store, drafter: Drafter, namespace: str, versions: str) -> None:
        self._store, self._drafter, self._namespace, self._versions = store, drafter, namespace, versions
        self._made: tuple[tuple[str, ...], WorkspaceKeys] | None = None
        self._gate, self._prepared = Gate(1), set[str]()

    def of(self, workspace: Workspace, tokens_per_s: float, cancellation: Cancellation) -> WorkspaceKeys | None:
        """Keys of every unit, where that is much sooner than encoding the files that changed. Raises CancelledError."""
        with self._gate.entered(cancellation):
            made = self._made
            if made is not None and made[0] == workspace.units_keys:
                return made[1]
            keys = self._make(workspace, tokens_per_s, cancellation)
            self._made = (workspace.units_keys, keys) if keys else None
            return keys

    def prepare(self, workspace: Workspace, cancellation: Cancellation) -> None:
        """Keep of each file what its next version needs, where others encoded it: a GPU, a team. Raises CancelledError.

        Once for each workspace: it takes 0.17 s for a million tokens (AMD EPYC).
        """
        if workspace.identity in self._prepared:
            return
        files = {path_key(file.local_path): file for file in workspace.files}
        with self._store.writer(self._versions) as writer:
            for key in files.keys() - self._store.keys(self._versions, files):
                cancellation.check()
                writer.put(key, PlannedFile.of(files[key]).record())
        self._prepared.add(workspace.identity)

    def forget(self) -> None:
        """All keys are there for good."""
        self._made = None

    def _make(self, workspace: Workspace, tokens_per_s: float, cancellation: Cancellation) -> WorkspaceKeys | None:
        found = locate(self._store, self._namespace, workspace)
        files = {number: workspace.files[number] for number in found.missing}
        missing = TOKENS_PER_BYTE * sum(file.content.size for file in files.values())
        if missing <= _AT_ONCE_S * tokens_per_s:
            return None
        edits = self._edits(files, min(_MOST_S * tokens_per_s, _MOST_SHARE * missing))
        if edits is None:
            return None
        made = self._encoded(files, edits, cancellation)
        return replace(keys_of(workspace, found.parts(workspace), parts_of(found.loose) | made), provisional=True)

    def _edits(self, files: Mapping[int, IndexedFile], most_tokens: float) -> dict[int, Edit] | None:
        """How files differ from their last versions; None if they do in more tokens than that."""
        last = self._last_versions(files.values())
        new = sum(file.content.size for file in files.values() if file.local_path not in last)
        if new * TOKENS_PER_BYTE > most_tokens:
            return None
        edits = {n: Edit.between(last.get(file.local_path), file.texts(file.units)) for n, file in files.items()}
        added = sum(len(text) for edit in edits.values() for text in edit.texts)
        return edits if added * TOKENS_PER_BYTE <= most_tokens else None

    def _last_versions(self, files: Iterable[IndexedFile]) -> dict[str, LastVersion]:
        """The last versions of files whose keys are still there, by path."""
        paths = {path_key(file.local_path): file.local_path for file in files}
        records = {paths[key]: one for key, one in self._store.get(self._versions, paths).items() if "lines" in one}
        names = {path: record["keys"].tobytes().hex() for path, record in records.items()}
        keys = self._store.get(self._namespace, set(names.values()))
        return {
            path: LastVersion.of(record, keys_of_record(keys[names[path]]))
            for path, record in records.items()
            if names[path] in keys
        }

    def _encoded(
        self, files: Mapping[int, IndexedFile], edits: Mapping[int, Edit], cancellation: Cancellation
    ) -> Parts:
        texts = (FileText(files[number].local_path, edit.texts) for number, edit in edits.items())
        encoded = self._drafter.encode(texts, cancellation)
        return {
            number: whole_file(edit.keys(keys)) for (number, edit), keys in zip(edits.items(), encoded, strict=True)
        }
