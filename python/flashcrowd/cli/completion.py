"""`flashcrowd completion`."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="Which shell reads it.")],
) -> None:
    """Print a script with which a shell completes commands and options.

    Bash: `flashcrowd completion bash > ~/.local/share/bash-completion/completions/flashcrowd`.
    Zsh: into a file `_flashcrowd` in a folder of `fpath`. Fish: into
    `~/.config/fish/completions/flashcrowd.fish`.
    """
    from flashcrowd.cli import app

    print(app.generate_completion(shell=shell))
