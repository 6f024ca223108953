"""The text and the checksums of a release: `python .github/release.py vX.Y.Z FOLDER`.

Writes SHA256SUMS into the folder, and prints what CHANGELOG.md says of the version. The tag, the
version in Cargo.toml and the names of the files have to agree.
"""

import re
import sys
import tomllib
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[1]


def notes(version: str) -> str:
    """What the changelog says of a version."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(version)}\b[^\n]*\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if found is None:
        sys.exit(f"CHANGELOG.md has no section '## {version}'")
    return found[1].strip()


def sums(folder: Path, version: str) -> str:
    """A line for each file of a release, as `sha256sum --check` reads them."""
    files = sorted(it for it in folder.iterdir() if it.suffix in (".whl", ".gz"))
    others = [it.name for it in files if not it.name.startswith(f"flashcrowd-{version}")]
    if others or not files:
        sys.exit(f"{folder}: files of another version than {version}: {others or 'none at all'}")
    return "".join(f"{sha256(it.read_bytes()).hexdigest()}  {it.name}\n" for it in files)


def main(tag: str, folder: Path) -> None:
    """Check, write and print."""
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    version = cargo["workspace"]["package"]["version"]
    if tag != f"v{version}":
        sys.exit(f"the tag is {tag}, and Cargo.toml has version {version}")
    (folder / "SHA256SUMS").write_text(sums(folder, version), encoding="utf-8")
    print(notes(version))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
