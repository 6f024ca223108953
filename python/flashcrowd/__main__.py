"""`python -m flashcrowd` is the command `flashcrowd`."""

from flashcrowd.cli import main

if __name__ == "__main__":
    main()
