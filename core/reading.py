"""Why a file could not be read, in words: missing, no permission, a syntax error or damage."""

from __future__ import annotations

import os


def read_problem(what: object, error: Exception) -> str:
    """One sentence for the error of an open, a read or a parse of `what`: the cause, and what to do about it."""
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return f"{what} does not exist"
        case IsADirectoryError():
            return f"{what} is a directory, not a file"
        case PermissionError():
            return f"{what}: permission denied; give this user read access"
        case OSError() if error.errno is not None:
            return f"{what} cannot be read from its storage: {os.strerror(error.errno)}; check the file system"
        case UnicodeDecodeError():
            return (
                f"{what} is not {error.encoding} text (byte {error.start + 1}); it is damaged or another kind of file"
            )
        case ValueError():
            return f"{what} has a syntax error: {' '.join(str(error).split())}"
    return f"{what} is damaged: {' '.join(str(error).split()) or type(error).__name__}"
