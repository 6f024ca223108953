"""Content codings: one that belongs to the file as it is stored is kept, another is refused."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

_ENDINGS = {
    "br": (".br",),
    "bzip2": (".bz2", ".tbz", ".tbz2"),
    "compress": (".taz", ".z"),
    "gzip": (".gz", ".svgz", ".taz", ".tgz"),
    "xz": (".txz", ".xz"),
    "zstd": (".tzst", ".zst"),
}


def unasked(content_encoding: str, names: list[str]) -> str:
    """A coding that does not belong to a file of one of these names; empty if there is none.

    Servers name the coding of `a.tar.gz` as one of the content (Apache's AddEncoding). Its ranges,
    tags and digests are of the coded bytes, which are the file.

    Args:
        content_encoding: the value of Content-Encoding.
        names: addresses or names of the file.
    """
    members = [it.strip(" \t").lower() for it in content_encoding.split(",")]
    codings = [it for it in members if it not in ("", "identity")]
    endings = _ENDINGS.get(codings[0].removeprefix("x-"), ()) if len(codings) == 1 else ()
    paths = [unquote(urlsplit(it).path if "://" in it else it).lower() for it in names]
    if not codings or any(it.endswith(endings) for it in paths if endings):
        return ""
    return ", ".join(codings)
