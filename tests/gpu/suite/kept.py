"""One archive with the folders of all cases that failed: it can be carried home where few files can."""

import os
import pathlib
import tarfile

MOST_OF_A_CASE_BYTES = 40 << 20
MOST_BYTES = 15 << 20


class Kept:
    """path: a .tar.gz; what earlier calls put there stays, but for cases that failed again."""

    def __init__(self, path):
        self._path = pathlib.Path(path)

    def add(self, name, folder):
        """What could not be kept of the case, in words, or nothing. The smallest files come first."""
        try:
            return self._add(name, folder)
        except (OSError, EOFError, tarfile.TarError) as error:  # the table is worth more
            return f"not kept in {self._path.name}: {error}"

    def _add(self, name, folder):
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_name(f".{self._path.name}.part")
        with tarfile.open(part, "w:gz", compresslevel=3) as archive:
            self._copy_others(archive, name)
            left_out = _add_files(archive, name, pathlib.Path(folder))
        if part.stat().st_size > MOST_BYTES:
            part.unlink()
            return f"no room for its folder in {self._path.name}"
        os.replace(part, self._path)
        return f"too large for {self._path.name}: {', '.join(left_out)}" if left_out else ""

    def _copy_others(self, archive, name):
        if not self._path.exists():
            return
        with tarfile.open(self._path) as older:
            for member in older:
                if pathlib.PurePath(member.name).parts[0] != name:
                    archive.addfile(member, older.extractfile(member))


def _add_files(archive, name, folder):
    room, left_out = MOST_OF_A_CASE_BYTES, []
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    for path in sorted(files, key=lambda path: path.stat().st_size):
        room -= path.stat().st_size
        if room > 0:
            archive.add(path, pathlib.PurePath(name) / path.relative_to(folder))
        else:
            left_out.append(str(path.relative_to(folder)))
    return left_out
